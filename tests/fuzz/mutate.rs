//! New inputs from known ones: a few random changes to their bytes, to their words and numbers, or, if
//! they are JSON, to their values. The same number always gives the same input.

use serde_json::{Map, Value, json};

/// Pseudorandom numbers; the same for the same seed. Follows SplitMix64.
pub(crate) struct Random(pub(crate) u64);

impl Random {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = self.0;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ (mixed >> 31)
    }

    /// Returns a number below another, which is not 0.
    fn below(&mut self, end: usize) -> usize {
        usize::try_from(self.next() % end as u64).expect("it was below a usize")
    }

    fn one_in(&mut self, count: usize) -> bool {
        self.below(count) == 0
    }

    fn pick<'a, T>(&mut self, list: &'a [T]) -> &'a T {
        &list[self.below(list.len())]
    }
}

/// The material for inputs.
pub(crate) struct Corpus {
    seeds: Vec<Vec<u8>>,
    /// The seeds that are JSON objects or lists.
    trees: Vec<Value>,
    /// Words of the seeds and of all languages.
    words: Vec<Vec<u8>>,
}

/// Words that often trip parsers, in any language.
const WORDS: [&str; 76] = [
    "",
    " ",
    "\n",
    "\r\n",
    "\t",
    "\0",
    "\u{1b}[31m",
    "\u{7f}",
    "\u{9b}",
    "\u{202e}",
    "\u{2028}",
    "\u{feff}",
    "\u{10ffff}",
    "é",
    "🦀",
    "\"",
    "'",
    "\\",
    "\\u0000",
    "\\ud800",
    "`",
    "|",
    ">",
    "%",
    "%s",
    "&a ",
    "*a",
    "!!binary ",
    "<<: ",
    "? ",
    "- ",
    ": ",
    ": |\n",
    "---\n",
    "...\n",
    "# ",
    "{",
    "}",
    "[",
    "]",
    "(",
    ")",
    ",",
    ";",
    "=",
    "==",
    "!=",
    "<",
    "~",
    "null",
    "true",
    "NaN",
    ".inf",
    "-",
    "+",
    ".",
    "0",
    "-1",
    "00",
    "0x1f",
    "1e9",
    "1e-9",
    "1e99999",
    "E",
    "Ei",
    "m",
    "n",
    "2147483647",
    "-2147483648",
    "2147483648",
    "9223372036854775807",
    "-9223372036854775808",
    "18446744073709551616",
    "0001-01-01T00:00:00Z",
    "9999-12-31T23:59:59Z",
    "2562047h47m16.854775807s",
];

impl Corpus {
    /// Builds it from at least one seed, and words that mean something to the target.
    pub(crate) fn new(seeds: Vec<Vec<u8>>, words: &[&str]) -> Self {
        let tree = |seed: &Vec<u8>| serde_json::from_slice::<Value>(seed).ok();
        let trees: Vec<Value> = seeds
            .iter()
            .filter_map(tree)
            .filter(|it| !is_leaf(it))
            .collect();
        let words = WORDS
            .iter()
            .chain(words)
            .map(|word| word.as_bytes().to_vec());
        Self {
            words: words.collect(),
            trees,
            seeds,
        }
    }

    /// Returns the seeds with which everything begins.
    pub(crate) fn seeds(&self) -> &[Vec<u8>] {
        &self.seeds
    }

    /// Returns the input of a number.
    pub(crate) fn input(&self, number: u64) -> Vec<u8> {
        // Adjacent numbers would begin alike.
        let mut random = Random(number.wrapping_mul(0xd1b5_4a32_d192_ed03));
        if self.trees.is_empty() || random.one_in(3) {
            let mut bytes = random.pick(&self.seeds).clone();
            self.change_bytes(&mut random, &mut bytes);
            return bytes;
        }
        let mut tree = random.pick(&self.trees).clone();
        for _ in 0..=random.below(4) {
            self.change_tree(&mut random, &mut tree);
        }
        let mut bytes = tree.to_string().into_bytes();
        if random.one_in(8) {
            self.change_bytes(&mut random, &mut bytes);
        }
        bytes
    }

    fn change_bytes(&self, random: &mut Random, bytes: &mut Vec<u8>) {
        for _ in 0..=random.below(4) {
            let at = random.below(bytes.len() + 1);
            let end = (at + 1 + random.below(16)).min(bytes.len());
            match random.below(8) {
                0 if at < bytes.len() => bytes[at] ^= 1 << random.below(8),
                1 => drop(bytes.drain(at..end)),
                2 => {
                    let again = bytes[at..end].repeat(1 + random.below(300) * random.below(2));
                    bytes.splice(at..at, again);
                }
                3 => {
                    let other = random.pick(&self.seeds);
                    let from = random.below(other.len() + 1);
                    let to = (from + random.below(64)).min(other.len());
                    bytes.splice(at..at, other[from..to].iter().copied());
                }
                4 => {
                    bytes.splice(at..end, random.pick(&self.words).iter().copied());
                }
                5 => change_number(random, bytes, at),
                6 => bytes.truncate(at),
                _ => {
                    bytes.splice(at..at, random.pick(&self.words).iter().copied());
                }
            }
        }
    }

    fn change_tree(&self, random: &mut Random, tree: &mut Value) {
        let size = count(tree);
        let mut place = random.below(size);
        let Some(value) = nth(tree, &mut place) else {
            return;
        };
        match value {
            Value::Array(list) if !list.is_empty() && random.one_in(2) => {
                let at = random.below(list.len());
                match random.below(3) {
                    0 => drop(list.remove(at)),
                    1 => {
                        let again = vec![list[at].clone(); 1 + random.below(20)];
                        list.splice(at..at, again);
                    }
                    _ => {
                        let other = random.below(list.len());
                        list.swap(at, other);
                    }
                }
            }
            Value::Object(map) if !map.is_empty() && random.one_in(2) => {
                self.change_map(random, map);
            }
            Value::Number(number) if random.one_in(2) => {
                let number = number.as_i64().unwrap_or_default();
                let other = [number.wrapping_neg(), number.wrapping_add(1), number / 2];
                *value = json!(random.pick(&other));
            }
            Value::String(text) if random.one_in(2) => {
                let mut bytes = std::mem::take(text).into_bytes();
                self.change_bytes(random, &mut bytes);
                *text = String::from_utf8_lossy(&bytes).into_owned();
            }
            _ => *value = self.some_value(random),
        }
    }

    fn change_map(&self, random: &mut Random, map: &mut Map<String, Value>) {
        let keys: Vec<String> = map.keys().cloned().collect();
        let key = random.pick(&keys);
        match random.below(3) {
            0 => drop(map.remove(key)),
            1 => drop(map.insert(key.clone(), self.some_value(random))),
            _ => {
                let word = self.word(random);
                let value = map[key].clone();
                map.insert(word, value);
            }
        }
    }

    fn word(&self, random: &mut Random) -> String {
        String::from_utf8_lossy(random.pick::<Vec<u8>>(&self.words)).into_owned()
    }

    fn some_value(&self, random: &mut Random) -> Value {
        match random.below(6) {
            0 => random
                .pick(&[
                    json!(null),
                    json!(true),
                    json!([]),
                    json!({}),
                    json!([null]),
                ])
                .clone(),
            1 => {
                let numbers = [
                    0,
                    1,
                    -1,
                    i64::from(i32::MAX),
                    i64::from(i32::MIN),
                    i64::MAX,
                    i64::MIN,
                ];
                json!(random.pick(&numbers))
            }
            2 => json!(random.pick(&[0.1, -0.0, 1.5, 1e300, 5e-324])),
            3 => {
                let mut other = random.pick(&self.trees).clone();
                let mut place = random.below(count(&other));
                nth(&mut other, &mut place).map_or(Value::Null, Value::take)
            }
            4 => json!({self.word(random): self.word(random)}),
            _ => json!(self.word(random)),
        }
    }
}

/// Replaces the number at this position with another.
fn change_number(random: &mut Random, bytes: &mut Vec<u8>, at: usize) {
    let Some(start) = bytes[at..]
        .iter()
        .position(u8::is_ascii_digit)
        .map(|from| at + from)
    else {
        return;
    };
    let digits = bytes[start..]
        .iter()
        .take_while(|byte| byte.is_ascii_digit())
        .count();
    let shifted = 1u64 << random.below(64);
    let number = if random.one_in(2) {
        shifted
    } else {
        shifted - 1
    };
    bytes.splice(start..start + digits, number.to_string().into_bytes());
}

fn is_leaf(value: &Value) -> bool {
    !value.is_object() && !value.is_array()
}

/// Returns the number of values in a tree, including itself.
fn count(value: &Value) -> usize {
    1 + match value {
        Value::Array(list) => list.iter().map(count).sum(),
        Value::Object(map) => map.values().map(count).sum(),
        _ => 0,
    }
}

/// Returns the value with an index, where the tree itself is 0.
fn nth<'t>(value: &'t mut Value, left: &mut usize) -> Option<&'t mut Value> {
    if *left == 0 {
        return Some(value);
    }
    *left -= 1;
    match value {
        Value::Array(list) => list.iter_mut().find_map(|item| nth(item, left)),
        Value::Object(map) => map.values_mut().find_map(|item| nth(item, left)),
        _ => None,
    }
}
