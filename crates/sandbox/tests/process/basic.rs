//! What a command gets.

use crate::world::in_every_tier;

#[test]
fn a_command_says_what_it_has_to_say() {
    in_every_tier(|world| {
        let finished = world.run("echo", &["hello"]).expect("it runs");
        println!("{finished:?}");
        assert_eq!(finished.stdout.text, "hello\n");
    });
}
