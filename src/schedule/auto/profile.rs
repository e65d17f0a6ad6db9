//! The numbers that rules for schedules go by: those of a machine, and those of what is estimated.
//! They come from measurements on other machines (`BENCHMARKS.md`), never from the one at hand, so
//! that the same program gets the same schedule everywhere; `--device FILE` gives others.

use serde::{Deserialize, Serialize};

/// All numbers of the rules, as a file of them has them. What a file leaves out is as it is without.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Profile {
    pub cpu: Cpu,
    pub gpu: Gpu,
    pub estimate: Estimate,
    pub model: Model,
}

/// Tiles and lanes of a CPU.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Cpu {
    /// Bytes of a tile of one row of the result: four vectors of 64, as many as hide how long a
    /// product takes.
    pub row_bytes: i64,
    /// Elements of the longest row, or row or column of a block, whose rest is unrolled, too.
    pub short_row: i64,
    /// Bytes of each row of a tile of several, two vectors, and how many there are.
    pub block_bytes: i64,
    pub block_rows: i64,
    /// Bytes of the lanes of a sum.
    pub lane_bytes: i64,
    /// Bytes of the lanes that take rows side by side, slot by slot: one vector (two took 1.3 to 1.8 times as long).
    pub slot_bytes: i64,
    /// Rows of a tile that diagonals pass over, one after another, while what they add to stays near.
    pub diagonal_rows: i64,
    /// Iterations of a tile of the loop along and of the one across a dense operand (transposes of 300 to
    /// 4,096 rows: .95 to .18 of the plain loops; 8 x 64, 16 x 16, 64 x 64, 64 x 16 are slower somewhere).
    pub along: i64,
    pub across: i64,
    /// Elements that a row stores from which on lanes that load them one by one pay (SpMV: 1.1 to 3
    /// of the plain loop, .8 to 1.1 below).
    pub long_row: i64,
    /// Products of a sum from which on it has all these lanes, and lanes of a shorter one, which leaves
    /// fewer products over.
    pub long_sum: i64,
    pub few_lanes: i64,
    /// Terms of a sum that are written out.
    pub few_terms: i64,
    /// Fewer elements are not worth a tile.
    pub least_tile: i64,
    /// Tiles that pass over a copy of what they read side by side, so that the copy pays; and how
    /// many of its columns' tiles threads need to share.
    pub passes: i64,
    /// Bytes of a copy of columns that stays near a processor.
    pub near_bytes: i64,
    /// Iterations that threads share out evenly.
    pub shared_iterations: i64,
    /// What one nest in threads is taken to gain over a plan without them.
    pub threads_gain: f64,
    /// Threads from which on it pays to count what they append first: products, whose counts need no
    /// sums and no order, and merges, which count nearly what they store.
    pub product_threads: i64,
    pub merge_threads: i64,
    /// Rows of a product that a thread takes at a time, since some take long; and how many rows, of products and of
    /// what is merged, are worth threads.
    pub rows_at_once: i64,
    pub product_rows: i64,
    pub merged_rows: i64,
}

impl Default for Cpu {
    fn default() -> Self {
        Cpu {
            row_bytes: 256,
            short_row: 8,
            block_bytes: 128,
            block_rows: 6,
            lane_bytes: 128,
            slot_bytes: 64,
            diagonal_rows: 1024,
            along: 16,
            across: 64,
            long_row: 20,
            long_sum: 128,
            few_lanes: 8,
            few_terms: 16,
            least_tile: 4,
            passes: 8,
            near_bytes: 1 << 21,
            shared_iterations: 8,
            threads_gain: 8.0,
            product_threads: 2,
            merge_threads: 4,
            rows_at_once: 16,
            product_rows: 500,
            merged_rows: 10_000,
        }
    }
}

/// Blocks and groups of a GPU.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Gpu {
    /// Threads of a block where each has an iteration of its own.
    pub block_threads: i64,
    /// Iterations of a block whose threads take them in turns, in sums of everything.
    pub block_iterations: i64,
    /// Columns of a result that the threads of a block take side by side.
    pub columns: i64,
    /// Threads of a warp, and rows of dense operands up to which each is a block's.
    pub lanes: i64,
    pub few_rows: i64,
    /// Columns below which the threads of a warp do not take them side by side.
    pub least_columns: i64,
    /// Threads that reduce the sum of one stored element.
    pub group: i64,
    /// Of a dense product: threads of a block along each dimension, which is how many products of a
    /// sum a tile has, too; rows and columns of each thread.
    pub product_threads: i64,
    pub product_rows: i64,
    /// Iterations of a thread, and threads of a block, where a loop that merges operands is cut.
    pub merged_iterations: i64,
    pub merged_threads: i64,
    /// Elements of a row below which a thread walks it, and below which so many threads do.
    pub short_row: f64,
    pub middle_row: f64,
    pub middle_group: i64,
    /// Elements of the longest row from which on stored elements are shared out, and how many rows
    /// are walked at once: a row that takes longer than all others together leaves the rest idle.
    pub long_row: u64,
    pub rows_at_once: u64,
    /// Stored elements of a block, in sums by segments of so many threads, and columns of each.
    pub segment_tile: i64,
    pub segment: i64,
    pub segment_columns: i64,
    /// Stored elements of a warp whose threads take columns side by side, and warps of a block.
    pub warp_elements: i64,
    pub warps: i64,
    /// Elements of a row up to which a thousand blocks have memory for one each: 16 bytes an element.
    pub collected_row: i64,
}

impl Default for Gpu {
    fn default() -> Self {
        Gpu {
            block_threads: 256,
            block_iterations: 4096,
            columns: 64,
            lanes: 32,
            few_rows: 256,
            least_columns: 8,
            group: 8,
            product_threads: 16,
            product_rows: 4,
            merged_iterations: 32,
            merged_threads: 128,
            short_row: 8.0,
            middle_row: 32.0,
            middle_group: 4,
            long_row: 2048,
            rows_at_once: 16_384,
            segment_tile: 64,
            segment: 32,
            segment_columns: 4,
            warp_elements: 64,
            warps: 4,
            collected_row: 1 << 17,
        }
    }
}

/// How often loops run where nobody knows, and what it costs.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Estimate {
    /// Dimensions of sparse tensors, and those that dense tensors alone have.
    pub sparse_extent: f64,
    pub dense_extent: f64,
    /// Elements below a stored one: of the outermost level, of the second, and further in.
    pub outer_children: f64,
    pub row_children: f64,
    pub inner_children: f64,
    /// What a step of a loop costs, and at the innermost one each tensor: the next element, one far
    /// from the last, or one that stays in a register.
    pub step: f64,
    pub next: f64,
    pub far: f64,
    pub kept: f64,
    /// What it costs to set an element of a workspace that stays in the nearest cache, and of
    /// others; how many such a cache holds.
    pub clear: f64,
    pub clear_far: f64,
    pub near_elements: f64,
    /// Elements of a workspace, more than which would hardly pay.
    pub most_elements: f64,
    /// What it costs to copy an element of a dense operand to where those of another of its rows stand.
    pub turn: f64,
    /// How many products that a workspace collects come to one element.
    pub merges: f64,
    /// How many times dearer one nest must be than a plan.
    pub gain: f64,
    /// Iterations of an innermost loop that no order of loops makes faster.
    pub few: f64,
}

impl Default for Estimate {
    fn default() -> Self {
        Estimate {
            sparse_extent: 10_000.0,
            dense_extent: 64.0,
            outer_children: 1_000.0,
            row_children: 16.0,
            inner_children: 8.0,
            step: 0.2,
            next: 1.0,
            far: 4.0,
            kept: 0.2,
            clear: 0.5,
            clear_far: 4.0,
            near_elements: 4_096.0,
            most_elements: 8.0e6,
            turn: 12.0,
            merges: 2.0,
            gain: 1.5,
            few: 16.0,
        }
    }
}

/// A GPU as `tune --model` has it, which ranks schedules by counts: an H100 or H200.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Model {
    /// Ten times its compute capability: for which machine code is made.
    pub capability: i64,
    /// Multiprocessors; warps, blocks, registers and bytes of shared memory of each.
    pub multiprocessors: i64,
    pub warps: i64,
    pub blocks: i64,
    pub registers: i64,
    pub shared: i64,
    /// Instructions of different warps that a multiprocessor begins in a cycle, and how many of these slots one takes
    /// that computes in double precision.
    pub slots: i64,
    pub double_slots: i64,
    /// Cycles from an instruction to one of its warp that needs it; from a load to its value, and how many
    /// loads of a warp are under way at once.
    pub step: i64,
    pub latency: i64,
    pub overlap: i64,
    /// Bytes in a cycle: of a multiprocessor's own cache, of the one that all share, of memory.
    pub near_bytes: i64,
    pub shared_bytes: i64,
    pub memory_bytes: i64,
    /// Cycles until a launch begins.
    pub launch: i64,
}

impl Default for Model {
    fn default() -> Self {
        Model {
            capability: 90,
            multiprocessors: 132,
            warps: 64,
            blocks: 32,
            registers: 65_536,
            shared: 233_472,
            slots: 4,
            double_slots: 2,
            step: 5,
            latency: 600,
            overlap: 4,
            near_bytes: 64,
            shared_bytes: 3_000,
            memory_bytes: 2_200,
            launch: 4_000,
        }
    }
}

impl Profile {
    /// The profile that a file's text gives.
    ///
    /// # Errors
    /// What is wrong with it, and the line, counted from 1, if there is one: a syntax that is not
    /// JSON's, a name that is not known, a number that is not positive, or so large that no tile or cost is.
    pub fn parse(text: &str) -> Result<Profile, (String, Option<usize>)> {
        let profile: Profile = serde_json::from_str(text).map_err(|error| {
            let message = error.to_string();
            let words = message.split(" at line ").next().unwrap_or(&message);
            (words.to_string(), Some(error.line()))
        })?;
        let all = serde_json::to_value(&profile).unwrap_or_default();
        let groups = all.as_object().into_iter().flatten();
        for (group, numbers) in groups {
            for (name, number) in numbers.as_object().into_iter().flatten() {
                let most = match name.as_str() {
                    "near_bytes" => 1e12,
                    _ if number.is_i64() => 1e6,
                    _ => 1e12,
                };
                let sane = number.as_f64().is_some_and(|n| n > 0.0 && n <= most);
                if !sane {
                    let why = format!(
                        "`{group}.{name}` is {number}: it is expected to be more than 0, and at most {most:e}"
                    );
                    return Err((why, None));
                }
            }
        }
        Ok(profile)
    }
}

#[cfg(test)]
mod tests {
    use super::Profile;

    #[test]
    fn what_a_file_leaves_out_is_as_it_is() {
        let own = Profile::parse(r#"{"cpu": {"row_bytes": 512}}"#).unwrap();
        assert_eq!(own.cpu.row_bytes, 512);
        assert_eq!(own.cpu.block_rows, Profile::default().cpu.block_rows);
        let text = serde_json::to_string(&Profile::default()).unwrap();
        assert_eq!(Profile::parse(&text).unwrap(), Profile::default());
    }

    #[test]
    fn what_no_machine_has_is_refused() {
        let why = |text: &str| Profile::parse(text).unwrap_err();
        assert_eq!(why("{\n\"cpu\": {\"rows\": 3}}").1, Some(2));
        assert!(
            why(r#"{"cpu": {"row_bytes": 0}}"#)
                .0
                .contains("cpu.row_bytes")
        );
        assert!(why(r#"{"gpu": {"group": -8}}"#).0.contains("gpu.group"));
        assert!(why("[1]").1.is_some());
    }
}
