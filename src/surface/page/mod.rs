//! Web page at `/`: the catalog, forms for calls, their results and the call log.
//!
//! It is bundled from `web/` when haft is built, and embedded. It uses `/api` like every other
//! client and loads nothing from other servers. The files themselves are public to every client
//! that may connect. Their data comes from the API, which requires the token.

use axum::Router;
use axum::http::header::{
    CACHE_CONTROL, CONTENT_SECURITY_POLICY, CONTENT_TYPE, ETAG, HeaderName, IF_NONE_MATCH,
    REFERRER_POLICY, X_FRAME_OPTIONS,
};
use axum::http::{HeaderMap, HeaderValue, StatusCode};
use axum::response::{IntoResponse, Response};
use axum::routing::get;

/// A file of the page.
struct File {
    path: &'static str,
    media_type: &'static str,
    text: &'static str,
}

const FILES: [File; 4] = [
    File {
        path: "/",
        media_type: "text/html; charset=utf-8",
        text: include_str!(concat!(env!("OUT_DIR"), "/page/index.html")),
    },
    File {
        path: "/page.js",
        media_type: "text/javascript; charset=utf-8",
        text: include_str!(concat!(env!("OUT_DIR"), "/page/page.js")),
    },
    File {
        path: "/page.css",
        media_type: "text/css; charset=utf-8",
        text: include_str!(concat!(env!("OUT_DIR"), "/page/page.css")),
    },
    File {
        path: "/icon.svg",
        media_type: "image/svg+xml",
        text: include_str!(concat!(env!("OUT_DIR"), "/page/icon.svg")),
    },
];

/// Content security policy: only our own script and style. Images may also be `data:` URLs from
/// results.
const POLICY: &str = "default-src 'none'; script-src 'self'; style-src 'self'; \
    img-src 'self' data:; connect-src 'self'; base-uri 'none'; form-action 'none'; \
    frame-ancestors 'none'; require-trusted-types-for 'script'; trusted-types 'none'";

const NO_FEATURES: &str = "camera=(), geolocation=(), microphone=(), payment=(), usb=()";

/// Returns the routes of the page.
pub(crate) fn router() -> Router {
    FILES.iter().fold(Router::new(), |router, file| {
        router.route(file.path, get(|headers: HeaderMap| answer(file, headers)))
    })
}

async fn answer(file: &'static File, asked: HeaderMap) -> Response {
    let tag = format!("\"{}\"", &blake3::hash(file.text.as_bytes()).to_hex()[..16]);
    let is_known = asked
        .get(IF_NONE_MATCH)
        .is_some_and(|known| known.as_bytes() == tag.as_bytes());
    let mut response = if is_known {
        StatusCode::NOT_MODIFIED.into_response()
    } else {
        file.text.into_response()
    };
    let headers = response.headers_mut();
    let fixed = [
        (CONTENT_TYPE, file.media_type),
        // Another version of haft may run at the same address later.
        (CACHE_CONTROL, "no-cache"),
        (CONTENT_SECURITY_POLICY, POLICY),
        (REFERRER_POLICY, "no-referrer"),
        (X_FRAME_OPTIONS, "DENY"),
        (HeaderName::from_static("permissions-policy"), NO_FEATURES),
        (
            HeaderName::from_static("cross-origin-opener-policy"),
            "same-origin",
        ),
    ];
    for (name, value) in fixed {
        headers.insert(name, HeaderValue::from_static(value));
    }
    if let Ok(tag) = HeaderValue::from_str(&tag) {
        headers.insert(ETAG, tag);
    }
    response
}
