//! Settings that wait for their client: Puppeteer and browser-use resize every page after they have
//! initialized it, although they may never use it. Such a setting reaches a tab only when its client
//! uses the tab.

use serde::Deserialize;

/// Chrome's own limits. It rejects anything else.
const MAX_SIZE: i64 = 10_000_000;
const MAX_TOUCH_POINTS: i64 = 16;

/// Whether a setting can wait. It is answered before Chrome has seen it, so this is only true of what
/// Chrome accepts on every page.
pub fn can_wait(method: &str, params: &str) -> bool {
    match method {
        "Emulation.setDeviceMetricsOverride" => are_metrics_valid(params),
        "Emulation.setTouchEmulationEnabled" => is_touch_valid(params),
        "Emulation.clearDeviceMetricsOverride" => true,
        _ => false,
    }
}

/// Only the parameters that client libraries send. Others are left to Chrome.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
struct Metrics {
    width: i64,
    height: i64,
    device_scale_factor: f64,
    #[expect(dead_code, reason = "only its type matters")]
    mobile: bool,
    screen_width: Option<i64>,
    screen_height: Option<i64>,
    screen_orientation: Option<Orientation>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Orientation {
    #[serde(rename = "type")]
    kind: String,
    angle: i64,
}

fn are_metrics_valid(params: &str) -> bool {
    let Ok(metrics) = serde_json::from_str::<Metrics>(params) else {
        return false;
    };
    let sizes = [
        Some(metrics.width),
        Some(metrics.height),
        metrics.screen_width,
        metrics.screen_height,
    ];
    let is_size = |size: &i64| (0..=MAX_SIZE).contains(size);
    sizes.iter().flatten().all(is_size)
        && metrics.device_scale_factor >= 0.0
        && metrics.screen_orientation.is_none_or(|orientation| {
            const KINDS: [&str; 4] = [
                "portraitPrimary",
                "portraitSecondary",
                "landscapePrimary",
                "landscapeSecondary",
            ];
            KINDS.contains(&orientation.kind.as_str()) && (0..360).contains(&orientation.angle)
        })
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
struct Touch {
    #[expect(dead_code, reason = "only its type matters")]
    enabled: bool,
    max_touch_points: Option<i64>,
}

fn is_touch_valid(params: &str) -> bool {
    serde_json::from_str::<Touch>(params).is_ok_and(|touch| {
        let points = touch.max_touch_points;
        points.is_none_or(|points| (1..=MAX_TOUCH_POINTS).contains(&points))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    const METRICS: &str = "Emulation.setDeviceMetricsOverride";
    const TOUCH: &str = "Emulation.setTouchEmulationEnabled";

    #[test]
    fn what_libraries_send_to_every_page_can_wait() {
        let puppeteer = r#"{"mobile":false,"width":800,"height":600,"deviceScaleFactor":1,"screenOrientation":{"angle":0,"type":"portraitPrimary"}}"#;
        let browser_use = r#"{"width":1920,"height":1080,"deviceScaleFactor":1.0,"mobile":false}"#;
        for params in [puppeteer, browser_use] {
            assert!(can_wait(METRICS, params), "{params}");
        }
        assert!(can_wait(TOUCH, r#"{"enabled":false}"#));
    }

    #[test]
    fn what_chrome_may_reject_cannot_wait() {
        for params in [
            r#"{"width":-1,"height":1,"deviceScaleFactor":1,"mobile":false}"#,
            r#"{"width":10000001,"height":1,"deviceScaleFactor":1,"mobile":false}"#,
            r#"{"width":1.5,"height":1,"deviceScaleFactor":1,"mobile":false}"#,
            r#"{"width":1,"height":1,"deviceScaleFactor":-1,"mobile":false}"#,
            r#"{"width":1,"height":1,"deviceScaleFactor":1,"mobile":false,"scale":-1}"#,
            r#"{"width":1,"height":1,"deviceScaleFactor":1,"mobile":false,"screenOrientation":{"angle":360,"type":"portraitPrimary"}}"#,
            r#"{"width":1}"#,
        ] {
            assert!(!can_wait(METRICS, params), "{params}");
        }
        assert!(!can_wait(TOUCH, r#"{"enabled":true,"maxTouchPoints":17}"#));
        assert!(!can_wait("Emulation.setTimezoneOverride", "{}"));
    }
}
