//! Tools written in Rust, governed like any other. The program has no project and no scripts.

use serde::{Deserialize, Serialize};
use serde_json::json;
use std::collections::BTreeMap;
use tool_harness::Effects;
use tool_harness::middleware::{Decision, Judged, Middleware, Step};
use tool_harness::tool::function;
use tool_harness::{EngineBuilder, ToolError, ToolRequest, ToolRuntime, ToolSpec, TypedTool};

/// The state that all calls share.
struct Shop {
    orders: BTreeMap<&'static str, u32>,
}

/// The context of one run.
struct Customer(&'static str);

/// The arguments. The model reads the comments.
#[derive(Deserialize, schemars::JsonSchema)]
struct Order {
    /// The order's number, as in A-17.
    id: String,
}

/// The result. It is checked against its schema, too.
#[derive(Serialize, schemars::JsonSchema)]
struct Status {
    items: u32,
    asked_by: String,
}

struct LookUpOrder;

impl TypedTool<Shop, Customer> for LookUpOrder {
    type Input = Order;
    type Output = Status;

    fn spec(&self) -> ToolSpec {
        ToolSpec::new("look_up_order", "Look up an order by its number.").effects(Effects::READ)
    }

    async fn call(
        &self,
        shop: &Shop,
        runtime: ToolRuntime<'_, Customer>,
        order: Order,
    ) -> Result<Status, ToolError> {
        let Some(items) = shop.orders.get(order.id.as_str()) else {
            return Err(ToolError::repairable(
                "no_such_order",
                format!("there is no order {}", order.id),
            ));
        };
        Ok(Status {
            items: *items,
            asked_by: runtime.context().0.to_owned(),
        })
    }
}

/// Refuses calls about orders that start with X.
struct PrivateOrders;

impl Middleware for PrivateOrders {
    fn name(&self) -> &str {
        "private_orders"
    }

    fn before<'a>(&'a self, call: &'a mut Judged<'_>) -> Step<'a, Decision> {
        match call.arguments().get("id").and_then(|id| id.as_str()) {
            Some(id) if id.starts_with('X') => {
                Decision::Refuse("orders that start with X are private".into()).into()
            }
            _ => Decision::Allow.into(),
        }
    }
}

/// The rules, in the format of `harness.md`.
const RULES: &str = "---
policy:
  side_effect_level: read_only
---
You answer questions about orders.
";

#[tokio::main]
async fn main() -> anyhow::Result<()> {
    let count = ToolSpec::new("count_letters", "Count the letters of a word.").pure();
    let delete =
        ToolSpec::new("delete_order", "Delete an order.").effects(Effects::READ | Effects::WRITE);
    let engine = EngineBuilder::without_project()
        .root(RULES)
        .state(Shop {
            orders: BTreeMap::from([("A-17", 3)]),
        })
        .context::<Customer>()
        .tool(LookUpOrder)
        .tool(function(count, |order: Order| async move {
            Ok(order.id.chars().filter(|c| c.is_alphabetic()).count())
        }))
        .tool(function(delete, |_: Order| async { Ok("gone") }))
        .middleware(PrivateOrders)
        .load()
        .await?;

    let run = engine.start(Customer("ann"));
    let turn = run.turn()?;
    for tool in &turn.surface().tools {
        println!("{}: {}", tool.name, tool.input_schema["properties"]);
    }
    let asked = [
        ("look_up_order", json!({"id": "A-17"})),
        ("count_letters", json!({"id": "A-17"})),
        ("look_up_order", json!({"id": "B-2"})),
        ("look_up_order", json!({"id": "X-1"})),
        ("look_up_order", json!({"number": 17})),
        ("delete_order", json!({"id": "A-17"})),
    ];
    let requests = asked
        .into_iter()
        .enumerate()
        .map(|(at, (tool, arguments))| ToolRequest::new(format!("call-{at}"), tool, arguments));
    for result in turn.call(requests.collect()).await.results {
        println!(
            "{}: {}",
            result.call_id,
            result.text().replace('\n', "\n  ")
        );
    }
    Ok(())
}
