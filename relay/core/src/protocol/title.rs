//! Whether `document.title` is known from the title that Chrome shows for a tab.
//!
//! Chrome shows the address of a document that has no title, cuts long titles off, and replaces what
//! is not valid Unicode. It also shows the title in a PDF's metadata, although its document has none;
//! the extension reports most PDFs, but not while they load, nor discarded ones.
//! White space around a title is removed, which cannot be told from the result.

/// Chrome cuts longer titles off, counted in UTF-16 units.
const MAX_LENGTH: usize = 4096;

/// Longer addresses are not compared with the title. Chrome allows 2 MB, and a page chooses its own.
const MAX_ADDRESS: usize = 8192;

/// The `document.title` of a loaded document, if it is certain.
pub fn known<'t>(url: &str, shown: &'t str) -> Option<&'t str> {
    let is_short = url.len() <= MAX_ADDRESS;
    let is_page = is_short && (url.starts_with("http://") || url.starts_with("https://"));
    let is_whole = shown.encode_utf16().count() < MAX_LENGTH && !shown.contains('\u{fffd}');
    let is_certain =
        is_page && !shown.is_empty() && is_whole && !may_be_pdf(url) && !may_be_address(url, shown);
    is_certain.then_some(shown)
}

fn may_be_pdf(url: &str) -> bool {
    url.to_ascii_lowercase().contains(".pdf")
}

/// Whether a title may be the address of its document: without the scheme, and more readable.
fn may_be_address(url: &str, shown: &str) -> bool {
    let (host, rest) = split_address(url);
    let (shown_host, shown_rest) = split_address(shown);
    // The readable form of an internationalized host name is unknown here.
    let is_host = host.contains("xn--") || host.eq_ignore_ascii_case(shown_host);
    is_host && decode(rest) == decode(shown_rest)
}

/// Host and port, and everything after them. A lone slash at the end does not count.
fn split_address(address: &str) -> (&str, &str) {
    let address = address.split_once("://").map_or(address, |(_, rest)| rest);
    let end = address.find(['/', '?', '#']).unwrap_or(address.len());
    let (host, rest) = address.split_at_checked(end).unwrap_or((address, ""));
    let host = host.rsplit_once('@').map_or(host, |(_, host)| host);
    (host, if rest == "/" { "" } else { rest })
}

/// Decodes what is percent-encoded, and the result again: Chrome decodes some of it. One pass is
/// enough, because each byte that is added can only complete what the last bytes began. A page
/// chooses the text, so more passes would let it keep the relay busy.
fn decode(text: &str) -> Vec<u8> {
    let mut decoded = Vec::with_capacity(text.len());
    for byte in text.bytes() {
        decoded.push(byte);
        while let [.., b'%', high, low] = decoded[..]
            && let Some((high, low)) = hex(high).zip(hex(low))
        {
            decoded.truncate(decoded.len() - 3);
            decoded.push(high << 4 | low);
        }
    }
    decoded
}

fn hex(digit: u8) -> Option<u8> {
    match digit {
        b'0'..=b'9' => Some(digit - b'0'),
        b'a'..=b'f' => Some(digit - b'a' + 10),
        b'A'..=b'F' => Some(digit - b'A' + 10),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn title_of_a_document_is_known() {
        for (url, shown) in [
            ("https://mail.example/", "Inbox"),
            ("http://127.0.0.1:8080/a/b?c#d", "a b"),
            ("https://news.example/", "news.example: today"),
            ("https://site.example/path", "site.example"),
            ("https://site.example/50%25", "50%"),
        ] {
            assert_eq!(known(url, shown), Some(shown), "{url}");
        }
    }

    #[test]
    fn title_that_chrome_may_have_made_is_unknown() {
        for (url, shown) in [
            ("http://127.0.0.1:8080/none", "127.0.0.1:8080/none"),
            (
                "http://127.0.0.1:8080/a?q=b%20c#d",
                "127.0.0.1:8080/a?q=b c#d",
            ),
            ("http://a.example/%E4%BD%A0", "a.example/你"),
            ("http://a.example/%2541", "a.example/%41"),
            ("http://user@a.example/", "a.example"),
            ("https://a.example/", "https://a.example"),
            ("https://a.example/b", "https://a.example/b"),
            ("http://xn--bcher-kva.example/b", "bücher.example/b"),
            ("https://a.example/report.PDF?x", "Annual report"),
            ("https://a.example/", "broken \u{fffd}"),
            ("https://a.example/", ""),
            ("about:blank", "about:blank"),
            ("file:///tmp/notes.txt", "notes.txt"),
        ] {
            assert_eq!(known(url, shown), None, "{url} {shown}");
        }
        assert_eq!(known("https://a.example/", &"x".repeat(MAX_LENGTH)), None);
    }

    #[test]
    fn decodes_what_decoding_has_made() {
        for (text, decoded) in [
            ("%2541", "A"),
            ("%%341", "A"),
            ("%2%35%34", "%4"),
            ("%25%25%", "%%%"),
            ("%4", "%4"),
            ("100%", "100%"),
            ("%zz", "%zz"),
        ] {
            assert_eq!(decode(text), decoded.as_bytes(), "{text}");
        }
    }

    #[test]
    fn long_address_takes_bounded_work() {
        let nested = "25".repeat(500_000);
        // One pass for each level would take hours.
        assert_eq!(decode(&format!("%{nested}")), b"%");
        let url = format!("https://a.example/#%{nested}");
        assert_eq!(known(&url, "Inbox"), None);
    }
}
