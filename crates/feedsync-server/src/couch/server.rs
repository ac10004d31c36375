//! The server as a whole: its identity, its databases and the client's session.

use axum::body::Body;
use axum::response::Response;
use feedsync_couch::{DatabaseName, Refusal, RefusalKind, quoted};
use http::{HeaderValue, Method, StatusCode, header};
use sha2::{Digest as _, Sha256};

use super::{
    CouchRequest, Failure, all_dbs, database_updates, done, json, node, replicate, scheduler,
    session,
};

/// The version of CouchDB whose behaviour this follows.
const VERSION: &str = "3.5.0";

/// Maximum number of ids per request.
const MAX_IDS: u64 = 10_000;

/// `GET /`. Clients derive the names of their checkpoints from `uuid`, so that it must never
/// change.
pub(super) async fn welcome(asked: &CouchRequest) -> Result<Response, Failure> {
    asked.method_of(&[Method::GET])?;
    let identity = asked.hub.endpoint.identity().await?;
    // The first authoring line of the endpoint is permanent, even after a restore.
    let first = identity.retired.first().unwrap_or(&identity.by);
    let digest = Sha256::digest(format!("uuid {first}"));
    let uuid: String = digest[..16].iter().map(|byte| format!("{byte:02x}")).collect();
    let text = format!(
        "{{\"couchdb\":\"Welcome\",\"version\":\"{VERSION}\",\"uuid\":\"{uuid}\",\"features\":[],\"vendor\":\
         {{\"name\":\"feedsync\",\"version\":\"{}\"}}}}\n",
        env!("CARGO_PKG_VERSION")
    );
    Ok(json(StatusCode::OK, text))
}

pub(super) async fn special(
    asked: &CouchRequest,
    name: &str,
    rest: &[String],
    body: Body,
) -> Result<Response, Failure> {
    match (name, rest) {
        ("_up", []) => {
            asked.method_of(&[Method::GET])?;
            Ok(json(StatusCode::OK, "{\"status\":\"ok\",\"seeds\":{}}\n"))
        }
        ("_session", []) => session::answer(asked, body).await,
        ("_all_dbs", []) => all_dbs::answer(asked).await,
        ("_dbs_info", []) => all_dbs::answer_info(asked, body).await,
        ("_uuids", []) => uuids(asked),
        ("_active_tasks", []) => scheduler::active_tasks(asked),
        ("_scheduler", rest) => scheduler::answer(asked, rest).await,
        ("_db_updates", []) => database_updates::answer(asked).await,
        ("_replicate", []) => replicate::answer(asked, body).await,
        ("_membership", []) => {
            asked.method_of(&[Method::GET])?;
            let nodes =
                "{\"all_nodes\":[\"nonode@nohost\"],\"cluster_nodes\":[\"nonode@nohost\"]}\n";
            Ok(json(StatusCode::OK, nodes))
        }
        ("_node", [_, config, rest @ ..]) if config == "_config" => {
            configuration(asked, rest, body).await
        }
        ("_node", [node]) => {
            asked.method_of(&[Method::GET])?;
            node::check(node)?;
            Ok(json(StatusCode::OK, format!("{{\"name\":{}}}\n", quoted(node::NAME))))
        }
        ("_node", [node, part, rest @ ..]) => node::answer(asked, node, part, rest).await,
        // The hub is a single node already, and its operator decides on which addresses it listens.
        ("_cluster_setup", []) => {
            asked.method_of(&[Method::POST])?;
            Ok(done(StatusCode::CREATED))
        }
        // The name is not valid for a database.
        _ if asked.method == Method::PUT => {
            Err(name.parse::<DatabaseName>().map_or_else(Failure::from, |_| {
                RefusalKind::NotFound.with_reason("There is nothing at this address.").into()
            }))
        }
        _ => Err(RefusalKind::NotFound.with_reason("There is nothing at this address.").into()),
    }
}

fn uuids(asked: &CouchRequest) -> Result<Response, Failure> {
    asked.method_of(&[Method::GET])?;
    let count = asked.parameters.count("count")?.unwrap_or(1);
    if count > MAX_IDS {
        let reason = format!("count parameter too large, must be at most {MAX_IDS}");
        return Err(RefusalKind::BadRequest.with_reason(reason).into());
    }
    let uuids: Vec<String> = (0..count).map(|_| format!("\"{}\"", new_id(asked))).collect();
    let mut response = json(StatusCode::OK, format!("{{\"uuids\":[{}]}}\n", uuids.join(",")));
    let none = HeaderValue::from_static("no-store");
    response.headers_mut().insert(header::CACHE_CONTROL, none);
    Ok(response)
}

/// A new random id: 32 hexadecimal digits.
pub(super) fn new_id(asked: &CouchRequest) -> String {
    let environment = asked.hub.endpoint.environment();
    format!("{:016x}{:016x}", environment.random(), environment.random())
}

/// Settings that clients check on a server (CL12): the behaviour of the hub under CouchDB's names.
async fn configuration(
    asked: &CouchRequest,
    rest: &[String],
    body: Body,
) -> Result<Response, Failure> {
    let name = asked.principal.user().map_or("anybody", |user| user.as_str());
    let most = asked.hub.config.limits.database_body_bytes.to_string();
    let request = 4_294_967_296_u64.max(asked.hub.config.limits.database_body_bytes as u64);
    let request = request.to_string();
    let origins = crate::http::other_origin::APPLICATION_ORIGINS.join(",");
    let sections: [(&str, Vec<(&str, &str)>); 7] = [
        ("admins", vec![(name, "-hidden-")]),
        (
            "chttpd",
            vec![
                ("require_valid_user", "true"),
                ("enable_cors", "true"),
                ("max_http_request_size", &request),
            ],
        ),
        ("chttpd_auth", vec![("require_valid_user", "true")]),
        ("httpd", vec![("WWW-Authenticate", "Basic realm=\"feedsync\""), ("enable_cors", "true")]),
        ("couchdb", vec![("max_document_size", &most)]),
        ("cors", vec![("credentials", "true"), ("origins", &origins)]),
        ("vendor", vec![("name", "feedsync")]),
    ];
    let found = |section: &str, key: &str| {
        let (_, keys) = sections.iter().find(|(known, _)| *known == section)?;
        keys.iter().find(|(known, _)| *known == key).map(|(_, value)| *value)
    };
    let object = |keys: &[(&str, &str)]| {
        let pairs: Vec<String> =
            keys.iter().map(|(key, value)| format!("{}:{}", quoted(key), quoted(value))).collect();
        format!("{{{}}}", pairs.join(","))
    };
    let method = asked.method_of(&[Method::GET, Method::PUT, Method::DELETE])?;
    if *method != Method::GET {
        let [section, key] = rest else {
            return Err(RefusalKind::NotFound.with_reason("unknown_config_value").into());
        };
        if *method == Method::DELETE {
            return Err(fixed(section, key).into());
        }
        let (_permit, sent) = asked.any_json(body).await?;
        let wanted = feedsync_couch::text(sent.root()).unwrap_or_default();
        return match found(section, key) {
            Some(value) if holds(key, value, &wanted) => {
                Ok(json(StatusCode::OK, format!("{}\n", quoted(value))))
            }
            _ => Err(fixed(section, key).into()),
        };
    }
    let text = match rest {
        [] => {
            let all: Vec<String> = sections
                .iter()
                .map(|(section, keys)| format!("{}:{}", quoted(section), object(keys)))
                .collect();
            format!("{{{}}}", all.join(","))
        }
        [section] => {
            let keys = sections.iter().find(|(known, _)| known == section);
            keys.map(|(_, keys)| object(keys)).unwrap_or_else(|| "{}".to_owned())
        }
        [section, key] => match found(section, key) {
            Some(value) => quoted(value),
            None => return Err(RefusalKind::NotFound.with_reason("unknown_config_value").into()),
        },
        _ => return Err(RefusalKind::NotFound.with_reason("unknown_config_value").into()),
    };
    Ok(json(StatusCode::OK, format!("{text}\n")))
}

/// The refusal to change a setting.
fn fixed(section: &str, key: &str) -> Refusal {
    RefusalKind::Forbidden.with_reason(format_args!(
        "{section}/{key} cannot be changed here: change it in the configuration of the hub"
    ))
}

/// Whether a setting already has the requested effect.
fn holds(key: &str, value: &str, wanted: &str) -> bool {
    match key {
        "max_http_request_size" | "max_document_size" => {
            matches!((value.parse::<u64>(), wanted.parse::<u64>()), (Ok(is), Ok(wanted)) if wanted <= is)
        }
        "origins" => {
            let known: Vec<&str> = value.split(',').collect();
            let mut all = wanted.split(',').map(str::trim).filter(|origin| !origin.is_empty());
            wanted == "*" || all.all(|origin| known.contains(&origin))
        }
        "WWW-Authenticate" => !wanted.is_empty(),
        _ => value == wanted,
    }
}
