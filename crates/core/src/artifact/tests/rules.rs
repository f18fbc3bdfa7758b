//! Every rule that reading raises, by its own example.

use super::{codes, project};
use crate::artifact::rule::RULES;

#[test]
fn every_bad_example_gives_exactly_its_code_and_every_good_one_nothing() {
    let mut without_example = Vec::new();
    for rule in RULES {
        if rule.bad.is_empty() {
            without_example.push(rule.code);
            continue;
        }
        assert_eq!(
            codes(&project(rule.bad)),
            [rule.code],
            "bad example of {}",
            rule.code
        );
        assert_eq!(
            codes(&project(rule.good)),
            [""; 0],
            "good example of {}",
            rule.code
        );
        for problem in project(rule.bad).problems {
            assert_eq!(problem.severity, rule.severity, "{}", rule.code);
            assert!(
                problem.message.starts_with(|c: char| !c.is_uppercase())
                    && !problem.message.ends_with('.'),
                "{}",
                problem.message
            );
        }
    }
    assert_eq!(
        without_example,
        ["FILE_TOO_LARGE"],
        "tested in `disk` instead"
    );
}
