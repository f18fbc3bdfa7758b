//! The omitted part of a result is a resource of the session.

use super::client::{Client, WITH_HANDSHAKE, WITHOUT};
use crate::support::{Project, tool};
use serde_json::{Value, json};

#[test]
fn only_its_own_connection_can_list_and_read_the_rest_of_a_long_result() {
    let long =
        tool("def run(args):\n  return \"\\n\".join([\"line %d\" % n for n in range(5000)])");
    let project = Project::new(&[(".harness/tools/say_much.md", &long)]);
    let whole: Vec<String> = (0..5000).map(|line| format!("line {line}")).collect();
    for revision in WITH_HANDSHAKE.into_iter().chain([WITHOUT]) {
        let mut client = Client::speaking(project.path(), revision);
        assert_eq!(
            client.ask("resources/list", json!({}))["result"]["resources"],
            json!([]),
            "{revision}"
        );
        let result = client.result("say_much", json!({}));
        let id = result["_meta"]["harness/artifacts"][0]["id"]
            .as_str()
            .expect("a handle")
            .to_owned();
        let links: Vec<&Value> = result["content"]
            .as_array()
            .expect("content")
            .iter()
            .filter(|block| block["type"] == "resource_link")
            .collect();
        let expected = if revision < "2025-06-18" {
            json!([])
        } else {
            json!([format!("artifact:///{id}")])
        };
        assert_eq!(
            json!(links.iter().map(|link| &link["uri"]).collect::<Vec<_>>()),
            expected,
            "{revision}"
        );

        let listed = client.ask("resources/list", json!({}))["result"]["resources"].take();
        let uri = listed[0]["uri"].as_str().expect("an address").to_owned();
        assert_eq!(
            (uri.as_str(), &listed[0]["mimeType"]),
            (format!("artifact:///{id}").as_str(), &json!("text/plain"))
        );
        let read =
            client.ask("resources/read", json!({"uri": uri}))["result"]["contents"][0].take();
        assert_eq!(
            (read["text"].as_str(), read["mimeType"].as_str()),
            (Some(whole.join("\n").as_str()), Some("text/plain"))
        );
        let part = client.result("read_artifact", json!({"id": id, "line": 4999, "lines": 9}));
        assert_eq!(
            part["content"][0]["text"]
                .as_str()
                .map(|text| text.split_once('\n').expect("lines").1),
            Some("line 4998\nline 4999\n")
        );

        let mut other = Client::speaking(project.path(), revision);
        assert_eq!(
            other.ask("resources/list", json!({}))["result"]["resources"],
            json!([])
        );
        for strange in [
            uri.as_str(),
            "artifact:///../../etc/passwd",
            "file:///etc/passwd",
            "artifact:///",
        ] {
            let answer = other.ask("resources/read", json!({"uri": strange}));
            assert!(
                answer["error"]["message"]
                    .as_str()
                    .is_some_and(|words| words.contains("no resource")),
                "{answer}"
            );
        }
        let refused = other.result("read_artifact", json!({"id": id}));
        assert_eq!(refused["isError"], true, "{refused}");
    }
}
