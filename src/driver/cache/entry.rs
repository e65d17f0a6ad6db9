//! An entry: a schedule, what it is of, and how it was found. One file of JSON that a person can
//! read, with a hash of all that it says.

use super::hash;
use super::key::{Key, Likeness};
use crate::driver::bench::machine::Description;
use crate::driver::bench::report::TensorData;
use serde::{Deserialize, Serialize};

/// The form of this file; readers ignore others.
pub const SCHEMA: &str = "sparsec-tuned-1";

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Entry {
    pub schema: String,
    /// SHA-256 of the entry without it.
    pub checksum: String,
    /// The function's own name.
    pub function: String,
    /// Its statements' labels, tensors and variables, in the order of the key's numbers.
    pub names: Vec<String>,
    /// The commands, in those names.
    pub schedule: Vec<String>,
    pub data: Vec<Tuned>,
    pub key: Key,
    pub found: Provenance,
}

/// Times on one data set.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Tuned {
    pub name: String,
    pub tensors: Vec<TensorData>,
    pub likeness: Likeness,
    /// Medians, of the schedule and of what sparsec chooses by itself.
    pub seconds: f64,
    pub automatic: f64,
}

/// How a schedule was found.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Provenance {
    pub search: String,
    pub seed: u64,
    pub seconds: f64,
    /// How many schedules were measured.
    pub candidates: usize,
    pub threads: u32,
    pub machine: Description,
}

impl Entry {
    /// The file's name: its program first, so that those of a program are found.
    #[must_use]
    pub fn file_name(&self) -> String {
        format!("{}-{}.json", self.key.program_hash(), self.id())
    }

    /// What `sparsec cache show` calls it.
    #[must_use]
    pub fn id(&self) -> String {
        // The same schedule for other data is another entry.
        let data: Vec<&Likeness> = self.data.iter().map(|d| &d.likeness).collect();
        let key = (&self.key, &self.schedule, data);
        let key = serde_json::to_string(&key).unwrap_or_default();
        hash(&[key.as_bytes()])[..12].to_string()
    }

    /// With its checksum.
    #[must_use]
    pub fn sealed(mut self) -> Self {
        self.checksum = self.sum();
        self
    }

    fn sum(&self) -> String {
        let open = Entry {
            checksum: String::new(),
            ..self.clone()
        };
        hash(&[serde_json::to_string(&open).unwrap_or_default().as_bytes()])
    }

    /// As a file.
    #[must_use]
    pub fn text(&self) -> String {
        serde_json::to_string_pretty(self).unwrap_or_default() + "\n"
    }

    /// Reads an entry.
    ///
    /// # Errors
    /// It is none, is of another version's form, or was changed.
    pub fn read(text: &[u8]) -> Result<Self, String> {
        #[derive(Deserialize)]
        struct Form {
            schema: String,
        }
        let form: Form = serde_json::from_slice(text).map_err(|e| e.to_string())?;
        if form.schema != SCHEMA {
            return Err(format!("its form is `{}`, not `{SCHEMA}`", form.schema));
        }
        let entry: Entry = serde_json::from_slice(text).map_err(|e| e.to_string())?;
        if entry.checksum != entry.sum() {
            return Err("its checksum does not fit: it was changed".to_string());
        }
        Ok(entry)
    }

    /// How far the nearest of its data sets is.
    #[must_use]
    pub fn distance(&self, data: &Likeness) -> Option<f64> {
        let each = self.data.iter().filter_map(|d| d.likeness.distance(data));
        each.min_by(f64::total_cmp)
    }
}

#[cfg(test)]
pub(in crate::driver) mod tests {
    use super::*;

    pub fn entry() -> Entry {
        let words = |text: &str| text.split(' ').map(str::to_string).collect::<Vec<_>>();
        Entry {
            schema: SCHEMA.to_string(),
            checksum: String::new(),
            function: "spmv".to_string(),
            names: words("S0 A x y i j"),
            schedule: vec!["parallelize(i, CPUThread, NoRaces)".to_string()],
            data: vec![Tuned {
                name: "A=web.mtx".to_string(),
                tensors: Vec::new(),
                likeness: Likeness(vec![1.5, 0.1]),
                seconds: 0.1,
                automatic: 1.0 / 3.0,
            }],
            key: Key {
                program: "function f\n".to_string(),
                target: "c".to_string(),
                device: "cpu".to_string(),
                sparsec: "1".to_string(),
                compiler: "cc".to_string(),
                flags: "-O3".to_string(),
            },
            found: Provenance {
                search: "genetic".to_string(),
                seed: 1,
                seconds: 60.0,
                candidates: 3,
                threads: 2,
                machine: Description::default(),
            },
        }
        .sealed()
    }

    #[test]
    fn an_entry_is_read_as_it_was_written() {
        let entry = entry();
        assert_eq!(Entry::read(entry.text().as_bytes()), Ok(entry.clone()));
        assert!(entry.file_name().starts_with(&entry.key.program_hash()));
        let mut other = entry.clone();
        other.data[0].likeness = Likeness(vec![9.0, 0.1]);
        assert_ne!(other.file_name(), entry.file_name());
    }

    #[test]
    fn what_was_changed_is_refused() {
        let text = entry().text();
        let refused = |text: &str| Entry::read(text.as_bytes()).unwrap_err();
        assert!(refused(&text.replace("CPUThread", "CPUVector")).contains("checksum"));
        assert!(refused(&text.replace("tuned-1", "tuned-2")).contains("tuned-2"));
        assert!(refused(&text[..text.len() / 2]).contains("EOF"));
        assert!(refused("").contains("EOF"));
        let poisoned = text.replace("\"0.1\"", "0.2").replace("0.1", "0.2");
        assert!(refused(&poisoned).contains("checksum"));
    }
}
