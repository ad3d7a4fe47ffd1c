//! The published protocol, which the relay also serves: its methods, with parameters that pass for
//! valid ones.

use std::collections::BTreeMap;

use serde_json::{Map, Value, json};

use super::known_value;

#[derive(Clone)]
pub struct Method {
    /// With its domain: `Page.navigate`.
    pub name: String,
    pub params: Value,
}

impl Method {
    pub fn domain(&self) -> &str {
        self.name.split('.').next().unwrap()
    }

    pub fn short_name(&self) -> &str {
        self.name.split('.').nth(1).unwrap()
    }
}

/// Every method, sorted by domain.
pub fn published() -> Vec<Method> {
    let file = concat!(env!("CARGO_MANIFEST_DIR"), "/../src/http/protocol.json");
    let text = std::fs::read_to_string(file).unwrap();
    let protocol: Value = serde_json::from_str(&text).unwrap();
    let domains = protocol["domains"].as_array().unwrap();
    let types = types_of(domains);
    let mut methods = Vec::new();
    for domain in domains {
        let name = domain["domain"].as_str().unwrap();
        for command in domain["commands"].as_array().into_iter().flatten() {
            let full = format!("{name}.{}", command["name"].as_str().unwrap());
            methods.push(Method {
                params: params_of(&full, name, command, &types),
                name: full,
            });
        }
    }
    methods.sort_by(|a, b| a.domain().cmp(b.domain()));
    methods
}

/// The types that parameters can refer to, by their full name.
type Types<'a> = BTreeMap<String, &'a Value>;

fn types_of(domains: &[Value]) -> Types<'_> {
    let mut types = BTreeMap::new();
    for domain in domains {
        let name = domain["domain"].as_str().unwrap();
        for defined in domain["types"].as_array().into_iter().flatten() {
            let id = defined["id"].as_str().unwrap();
            types.insert(format!("{name}.{id}"), defined);
        }
    }
    types
}

/// The required parameters, and those whose value the relay looks at.
fn params_of(method: &str, domain: &str, command: &Value, types: &Types<'_>) -> Value {
    let mut params = Map::new();
    for parameter in command["parameters"].as_array().into_iter().flatten() {
        let name = parameter["name"].as_str().unwrap();
        let is_required = parameter["optional"] != true;
        if is_required || matches!(name, "flatten" | "targetId") {
            let value = known_value(method, name);
            let value = value.unwrap_or_else(|| sample(domain, parameter, types));
            params.insert(name.to_owned(), value);
        }
    }
    Value::Object(params)
}

/// A value of this type.
fn sample(domain: &str, of: &Value, types: &Types<'_>) -> Value {
    if let Some(reference) = of["$ref"].as_str() {
        let is_local = !reference.contains('.');
        let full = if is_local {
            format!("{domain}.{reference}")
        } else {
            reference.to_owned()
        };
        return sample(domain, types[&full], types);
    }
    if let Some(first) = of["enum"].as_array().and_then(|values| values.first()) {
        return first.clone();
    }
    match of["type"].as_str().unwrap() {
        "string" => json!("x"),
        "integer" | "number" => json!(1),
        "boolean" => json!(true),
        "array" => json!([]),
        _ => json!({}),
    }
}
