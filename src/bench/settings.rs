//! What results in one folder share, as its `settings.json` has it: results are compared only where it is the same.

use super::cell::CellId;
use super::order::cells;
use crate::error::{Error, Result};
use camino::Utf8Path;
use serde_json::{Value, json};
use std::collections::BTreeSet;

/// The file of a folder of runs.
pub const SETTINGS: &str = "settings.json";

/// The key of how many attempts were asked of each agent: more may be asked later.
const ATTEMPTS: &str = "attempts";

/// Where two settings differ: the keys, with both values. Agents that only one has are no difference, nor is how many attempts were asked.
#[must_use]
pub fn differences(before: &serde_json::Value, now: &serde_json::Value) -> Vec<String> {
    let mut out = Vec::new();
    compare("", before, now, &mut out);
    out
}

fn compare(path: &str, before: &serde_json::Value, now: &serde_json::Value, out: &mut Vec<String>) {
    let (Some(old), Some(new)) = (before.as_object(), now.as_object()) else {
        if before != now {
            out.push(format!("{path}: {before} before, {now} now"));
        }
        return;
    };
    let keys: std::collections::BTreeSet<&String> = old.keys().chain(new.keys()).collect();
    for key in keys {
        let inner = if path.is_empty() { key.clone() } else { format!("{path}.{key}") };
        match (old.get(key), new.get(key)) {
            _ if inner == ATTEMPTS => {}
            (Some(old), Some(new)) => compare(&inner, old, new, out),
            _ if path == "agents" => {}
            (old, new) => {
                let shown = |value: Option<&serde_json::Value>| value.map_or_else(|| "nothing".into(), ToString::to_string);
                out.push(format!("{inner}: {} before, {} now", shown(old), shown(new)));
            }
        }
    }
}

/// The settings in a folder of runs; none where there are no results yet.
///
/// # Errors
/// [`Error::Usage`] when they can't be read.
pub fn load(runs: &Utf8Path) -> Result<Option<Value>> {
    let file = runs.join(SETTINGS);
    match std::fs::read(&file) {
        Ok(bytes) => serde_json::from_slice(&bytes)
            .map(Some)
            .map_err(|e| Error::Usage(format!("{file} can't be read: {e}; name another folder"))),
        Err(e) if e.kind() == std::io::ErrorKind::NotFound => Ok(None),
        Err(e) => Err(Error::path("read", &file)(e)),
    }
}

/// Two settings as one: the agents of both, and of each the most attempts.
///
/// # Errors
/// The [`differences`], when there are any.
pub fn joined(before: &Value, now: &Value) -> Result<Value, Vec<String>> {
    let differences = differences(before, now);
    if !differences.is_empty() {
        return Err(differences);
    }
    let mut all = now.clone();
    for (key, value) in before["agents"].as_object().into_iter().flatten() {
        all["agents"][key] = value.clone();
    }
    for (key, value) in before[ATTEMPTS].as_object().into_iter().flatten() {
        let most = value.as_u64().max(all[ATTEMPTS][key].as_u64());
        all[ATTEMPTS][key] = json!(most);
    }
    Ok(all)
}

/// How many attempts are asked of which agents, as settings have it.
#[must_use]
pub fn attempts<'n>(agents: impl IntoIterator<Item = &'n String>, attempts: u32) -> (&'static str, Value) {
    (ATTEMPTS, agents.into_iter().map(|name| (name.clone(), json!(attempts))).collect::<serde_json::Map<_, _>>().into())
}

/// The cells that were asked for, of these tasks.
#[must_use]
pub fn asked_for<'t>(settings: &Value, tasks: impl IntoIterator<Item = &'t String> + Clone) -> BTreeSet<CellId> {
    let of = |(agent, attempts): (&String, &Value)| {
        let attempts = attempts.as_u64().and_then(|n| u32::try_from(n).ok()).unwrap_or(0);
        cells(tasks.clone(), &[agent.clone()].into(), attempts)
    };
    settings[ATTEMPTS].as_object().into_iter().flatten().flat_map(of).collect()
}

#[cfg(test)]
mod unit {
    use super::*;

    #[test]
    fn settings_differ_where_a_value_does_and_another_agent_is_no_difference() {
        let before = json!({ "tasks": "a", "agents": { "one": { "steps": 50 } } });
        assert!(differences(&before, &json!({ "tasks": "a", "agents": { "one": { "steps": 50 }, "two": {} } })).is_empty());
        assert!(differences(&before, &json!({ "tasks": "a", "agents": { "two": {} } })).is_empty());
        let other = json!({ "tasks": "b", "agents": { "one": { "steps": 20, "network": "full" } } });
        assert_eq!(
            differences(&before, &other),
            [
                "agents.one.network: nothing before, \"full\" now",
                "agents.one.steps: 50 before, 20 now",
                "tasks: \"a\" before, \"b\" now"
            ]
        );
    }

    #[test]
    fn joined_settings_have_the_agents_of_both_and_the_most_attempts() {
        let before = json!({ "tasks": "a", "agents": { "one": { "steps": 50 } }, "attempts": { "one": 3 } });
        let now =
            json!({ "tasks": "a", "agents": { "one": { "steps": 50 }, "two": {} }, "attempts": { "one": 1, "two": 2 } });
        let both = joined(&before, &now).unwrap();
        assert_eq!((&both["attempts"]["one"], &both["attempts"]["two"]), (&json!(3), &json!(2)));
        assert_eq!(both["agents"].as_object().unwrap().len(), 2);
        assert_eq!(asked_for(&both, &["t".to_owned(), "u".to_owned()]).len(), 2 * (3 + 2));
        assert!(joined(&before, &json!({ "tasks": "b", "agents": {} })).is_err());
    }
}
