//! chromiumoxide as a driver of the battery: carries out one operation per line of stdin, and prints one line
//! of JSON for each. `driver.mjs` has the same loop for drivers in JavaScript.

mod client;

use std::io::{self, BufRead};

use serde_json::{Value, json};

use client::{Client, Failure, Given};

#[tokio::main]
async fn main() -> Result<(), Failure> {
    let given = Given::from_environment()?;
    let mut client = None;
    for name in io::stdin().lock().lines() {
        let line = match run(&mut client, &given, &name?).await {
            Ok(Some(value)) => json!({ "value": value }),
            Ok(None) => json!({ "missing": true }),
            Err(error) => json!({ "error": error.to_string() }),
        };
        println!("{line}");
    }
    Ok(())
}

/// The result of an operation, or `None` if chromiumoxide offers no such thing.
async fn run<'a>(
    connected: &mut Option<Client<'a>>,
    given: &'a Given,
    name: &str,
) -> Result<Option<Value>, Failure> {
    if name == "connect" {
        let client = connected.insert(Client::connect(given).await?);
        return client.list().await.map(Some);
    }
    if name == "disconnect" {
        if let Some(client) = connected.take() {
            client.disconnect().await;
        }
        return Ok(Some(json!(true)));
    }
    let client = connected.as_mut().ok_or("not connected")?;
    let value = match name {
        "title" => client.title().await?,
        "evaluate" => client.evaluate().await?,
        "click" => client.click().await?,
        "type" => client.type_text().await?,
        "frame" => client.frame().await?,
        "open" => client.open().await?,
        "navigate" => client.navigate().await?,
        "screenshot" => client.screenshot().await?,
        "intercept" => client.intercept().await?,
        "popup" => client.popup().await?,
        "download" => client.download().await?,
        "cookies" => client.cookies().await?,
        "close" => client.close().await?,
        _ => return Ok(None),
    };
    Ok(Some(value))
}
