//! What the relay does with a command to the browser itself. Chrome grants extensions none of
//! `Browser`; the extension carries out what other APIs of Chrome can do.

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum BrowserCommand {
    Version,
    Close,
    SetDownloadBehavior,
    CancelDownload,
    /// Carried out by the extension with the same parameters.
    ByExtension,
    WindowForTarget,
    SetWindowBounds,
    GrantPermissions,
    SetPermission,
    ResetPermissions,
    Unknown,
}

impl BrowserCommand {
    pub fn classify(method: &str) -> Self {
        match method {
            "Browser.getVersion" => Self::Version,
            "Browser.close" => Self::Close,
            "Browser.setDownloadBehavior" => Self::SetDownloadBehavior,
            "Browser.cancelDownload" => Self::CancelDownload,
            "Storage.getCookies"
            | "Storage.setCookies"
            | "Storage.clearCookies"
            | "Browser.getWindowBounds" => Self::ByExtension,
            "Browser.getWindowForTarget" => Self::WindowForTarget,
            "Browser.setWindowBounds" => Self::SetWindowBounds,
            "Browser.grantPermissions" => Self::GrantPermissions,
            "Browser.setPermission" => Self::SetPermission,
            "Browser.resetPermissions" => Self::ResetPermissions,
            _ => Self::Unknown,
        }
    }
}

/// Whether a command to a page is about the cookies of the profile, which the extension can read and
/// change without a debugger.
pub fn is_about_profile_cookies(method: &str) -> bool {
    matches!(
        method,
        "Network.clearBrowserCookies"
            | "Network.deleteCookies"
            | "Network.getAllCookies"
            | "Network.setCookie"
            | "Network.setCookies"
            | "Storage.clearCookies"
            | "Storage.getCookies"
            | "Storage.setCookies"
    )
}

/// Whether a command is about the cookies of the page that it is sent to, which the extension can read
/// as well.
pub fn is_about_own_cookies(method: &str) -> bool {
    method == "Network.getCookies"
}
