//! Which kept schedule is for a function, data and machine.

use super::entry::Entry;
use super::key::{Key, Likeness, renamed};
use super::{Cache, Ignored, Kind};

/// Kept schedules of a program, in the names of whoever asks.
#[derive(Debug, Default)]
pub struct Found {
    /// For this machine and build, and for data like this where there is data; the nearest first.
    pub fitting: Vec<(Entry, Vec<String>)>,
    /// For others, or other data, the nearest first: tuning starts from them. With why they do not
    /// fit.
    pub near: Vec<(Entry, Vec<String>, &'static str)>,
    /// What is no entry.
    pub ignored: Vec<Ignored>,
}

/// The schedules that the cache has of a program.
#[must_use]
pub fn tuned(cache: &Cache, key: &Key, names: &[String], data: &[Likeness]) -> Found {
    let mut found = Found::default();
    let listed = match cache.list(Kind::Schedule) {
        Ok(listed) => listed,
        Err(ignored) => {
            found.ignored.push(ignored);
            return found;
        }
    };
    let own = key.program_hash();
    let (mut fitting, mut near) = (Vec::new(), Vec::new());
    for kept in listed.iter().filter(|kept| kept.name.starts_with(&own)) {
        let content = match cache.read(Kind::Schedule, &kept.name) {
            Ok(Some(content)) => content,
            Ok(None) => continue,
            Err(ignored) => {
                found.ignored.push(ignored);
                continue;
            }
        };
        let entry = match Entry::read(&content) {
            Ok(entry) => entry,
            Err(reason) => {
                let path = kept.path.clone();
                found.ignored.push(Ignored { path, reason });
                continue;
            }
        };
        let Some(commands) = renamed(&entry.schedule, &entry.names, names) else {
            continue;
        };
        // The farthest of the data sets decides.
        let mut distances = data.iter().map(|d| entry.distance(d));
        let distance = distances.try_fold(0.0f64, |most, d| Some(most.max(d?)));
        let differs = entry.key.differs(key);
        match (differs, distance) {
            (Some("another program" | "another target"), _) | (_, None) => {}
            (None, Some(distance)) if Likeness::is_alike(distance) => {
                fitting.push((distance, entry, commands));
            }
            (differs, Some(distance)) => {
                near.push((distance, entry, commands, differs.unwrap_or("other data")));
            }
        }
    }
    // The fastest of those that are as near, then the newest.
    let seconds = |entry: &Entry| entry.data.iter().map(|d| d.seconds).sum::<f64>();
    fitting.sort_by(|a, b| {
        let nearer = a.0.total_cmp(&b.0);
        nearer.then_with(|| seconds(&a.1).total_cmp(&seconds(&b.1)))
    });
    near.sort_by(|a, b| a.0.total_cmp(&b.0));
    found.fitting = fitting.into_iter().map(|(_, e, c)| (e, c)).collect();
    found.near = near.into_iter().map(|(_, e, c, why)| (e, c, why)).collect();
    found
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::driver::cache::entry::tests::entry;

    fn cache() -> (tempfile::TempDir, Cache) {
        let folder = tempfile::tempdir().unwrap();
        let cache = Cache::new(folder.path().join("c"), 1 << 20);
        (folder, cache)
    }

    fn put(cache: &Cache, entry: &Entry) {
        let text = entry.text();
        let written = cache.write(Kind::Schedule, &entry.file_name(), text.as_bytes());
        written.unwrap();
    }

    #[test]
    fn the_nearest_data_is_taken_and_names_follow() {
        let (_folder, cache) = cache();
        let first = entry();
        let mut second = entry();
        second.data[0].likeness = Likeness(vec![2.0, 0.1]);
        second.schedule = vec!["unroll(j, 4)".to_string()];
        let second = second.sealed();
        put(&cache, &first);
        put(&cache, &second);
        let names = ["S0", "B", "v", "w", "row", "col"].map(str::to_string);
        let ask = |data: &[Likeness]| tuned(&cache, &first.key, &names, data);
        let near = Likeness(vec![2.1, 0.1]);
        let found = ask(std::slice::from_ref(&near));
        assert_eq!(found.fitting[0].1, ["unroll(col, 4)"]);
        assert_eq!(found.fitting.len(), 2);
        let far = Likeness(vec![9.0, 0.1]);
        let found = ask(&[near, far]);
        assert!(found.fitting.is_empty());
        assert_eq!(found.near[0].2, "other data");
    }

    #[test]
    fn what_is_foreign_or_spoilt_is_not_taken() {
        let (_folder, cache) = cache();
        let own = entry();
        put(&cache, &own);
        let ask = |key: &Key| tuned(&cache, key, &own.names, &[]);
        assert_eq!(ask(&own.key).fitting.len(), 1);
        let other = |change: &dyn Fn(&mut Key)| {
            let mut key = own.key.clone();
            change(&mut key);
            ask(&key)
        };
        for (change, why) in [
            (
                &(|k: &mut Key| k.device = "?".into()) as &dyn Fn(&mut Key),
                "another device",
            ),
            (
                &|k: &mut Key| k.sparsec = "?".into(),
                "another build of sparsec",
            ),
            (&|k: &mut Key| k.compiler = "?".into(), "another compiler"),
            (&|k: &mut Key| k.flags = "?".into(), "other flags"),
        ] {
            let found = other(change);
            assert!(found.fitting.is_empty());
            assert_eq!(found.near[0].2, why);
        }
        assert!(other(&|k| k.program = "?".into()).near.is_empty());
        // Truncated, and not even text.
        let name = own.file_name();
        for content in [&own.text().as_bytes()[..40], &[0xff; 100]] {
            cache.write(Kind::Schedule, &name, content).unwrap();
            let found = ask(&own.key);
            assert!(found.fitting.is_empty() && found.near.is_empty());
            assert_eq!(found.ignored.len(), 1);
        }
    }
}
