//! Libraries of other versions: 200 changes of the interface, each harmless or refused.
//!
//! A fake library is the description that it would answer, with layouts by the compiler's rules, and memory as
//! it would fill it. What fits must be read rightly at the places that this binding was compiled for, which
//! are those of made_for: types.rs asserts each offset.

use super::misfits;
use crate::json::Json;
use crate::sys::made_for::{Interface, SERVER, TENON};
use serde_json::{json, Value};

const TYPES: [(&str, usize); 7] = [
    ("int32_t", 4),
    ("uint32_t", 4),
    ("int64_t", 8),
    ("uint64_t", 8),
    ("double", 8),
    ("float", 4),
    ("size_t", 8),
];

/// SplitMix64.
struct Dice(u64);

impl Dice {
    fn below(&mut self, limit: usize) -> usize {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = self.0;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        ((mixed ^ (mixed >> 31)) % limit as u64) as usize
    }
}

/// The description as the library answers it: without its prose.
fn interface() -> Value {
    described(include_str!("../../../../interface.json"))
}

fn described(text: &str) -> Value {
    let mut interface: Value = serde_json::from_str(text).unwrap();
    interface["options"].take();
    for member in ["functions", "structs", "constants", "callbacks"] {
        for item in interface[member].as_array_mut().unwrap() {
            item.as_object_mut().unwrap().remove("doc");
        }
    }
    interface
}

fn misfits_of(interface: &Value, made_for: &Interface) -> Vec<String> {
    misfits(&Json::read(&interface.to_string()).unwrap(), made_for)
}

fn size_of(kind: &str) -> usize {
    TYPES.iter().find(|(name, _)| *name == kind).map_or(8, |(_, size)| *size)
}

/// Gives the fields of a structure offsets and sizes as a compiler would.
fn lay_out(fields: &mut [Value]) -> usize {
    let mut end = 0_usize;
    for field in fields.iter_mut() {
        let element = size_of(field["type"].as_str().unwrap());
        let size = element * field["count"].as_u64().unwrap_or(1) as usize;
        let offset = end.div_ceil(element) * element;
        field["offset"] = offset.into();
        field["size"] = size.into();
        end = offset + size;
    }
    end.div_ceil(8) * 8
}

/// One change; whether a later minor version may make it.
fn change(dice: &mut Dice, fields: &mut Vec<Value>) -> (&'static str, bool) {
    let index = 1 + dice.below(fields.len() - 1);
    let name = format!("fresh_{}", dice.below(1000));
    let fresh = json!({"name": name, "type": TYPES[dice.below(TYPES.len())].0, "role": "value"});
    match dice.below(7) {
        0 => {
            fields.insert(index, fresh);
            ("insert", false)
        }
        1 => {
            let other = 1 + dice.below(fields.len() - 1);
            fields.swap(index, other);
            ("reorder", false)
        }
        2 => {
            let others: Vec<_> = TYPES.iter().filter(|(kind, _)| fields[index]["type"] != *kind).collect();
            fields[index]["type"] = others[dice.below(others.len())].0.into();
            ("retype", false)
        }
        3 => {
            fields[index]["name"] = name.into();
            ("rename", false)
        }
        4 => {
            fields.remove(index);
            ("remove", false)
        }
        5 => {
            if let Some(reserved) = fields.iter_mut().find(|field| field["name"] == "reserved") {
                reserved["name"] = name.into();
                return ("use reserved", true);
            }
            fields.push(fresh);
            ("append", true)
        }
        _ => {
            fields.push(fresh);
            ("append", true)
        }
    }
}

#[test]
fn a_changed_layout_is_harmless_or_refused() {
    change_layouts(&interface(), &TENON);
}

#[test]
fn a_changed_layout_of_the_server_is_harmless_or_refused() {
    change_layouts(&described(include_str!("../../../../server_interface.json")), &SERVER);
}

fn change_layouts(real: &Value, made_for: &Interface) {
    let (mut harmless, mut refused) = (0, 0);
    for seed in 0..200 {
        let mut dice = Dice(seed);
        let mut interface = real.clone();
        let structs = interface["structs"].as_array_mut().unwrap();
        let which = dice.below(structs.len());
        let Value::Array(mut fields) = structs[which]["fields"].take() else { panic!("no fields") };
        let (kind, is_allowed) = change(&mut dice, &mut fields);
        let size = lay_out(&mut fields);
        structs[which]["size"] = size.into();
        structs[which]["fields"] = fields.clone().into();
        let name = structs[which]["name"].as_str().unwrap().to_owned();

        let reasons = misfits_of(&interface, made_for);
        if is_allowed {
            assert!(reasons.is_empty(), "{kind} of {name}: a later minor version is refused: {reasons:?}");
        }
        if let Some(reason) = reasons.first() {
            assert!(reason.contains(&name), "{kind} of {name}: {reason}");
            refused += 1;
            continue;
        }
        harmless += 1;
        // The library fills what it knows, as far as our structure goes. Each field has bytes of its own.
        let ours = made_for.structs.iter().find(|item| item.name == name).unwrap();
        let mut memory = vec![0_u8; size.max(ours.size)];
        let filler =
            |field: &str, byte: usize| field.bytes().map(usize::from).sum::<usize>() as u8 ^ byte as u8 | 1;
        for field in &fields {
            let (offset, bytes) = (field["offset"].as_u64().unwrap(), field["size"].as_u64().unwrap());
            for byte in 0..bytes as usize {
                if offset as usize + byte < ours.size {
                    memory[offset as usize + byte] = filler(field["name"].as_str().unwrap(), byte);
                }
            }
        }
        for field in ours.fields.iter().filter(|field| field.name != "reserved") {
            let read = &memory[field.offset..field.offset + field.size];
            let is_known = fields.iter().any(|theirs| theirs["name"] == field.name);
            let written = (0..field.size).map(|byte| if is_known { filler(field.name, byte) } else { 0 });
            assert!(read.iter().copied().eq(written), "{kind}: {name}.{}", field.name);
        }
    }
    assert!(harmless >= 40 && refused >= 80, "{harmless} harmless, {refused} refused");
}

#[test]
fn the_real_descriptions_fit() {
    assert_eq!(misfits_of(&interface(), &TENON), [] as [&str; 0]);
    let server = described(include_str!("../../../../server_interface.json"));
    assert_eq!(misfits_of(&server, &SERVER), [] as [&str; 0]);
}

#[test]
fn other_changes_are_refused() {
    type Change = fn(&mut Value);
    let changes: [(Change, &str); 6] = [
        (|d| d["constants"][2]["value"] = 77.into(), "77"),
        (|d| drop(d["functions"][0]["parameters"].as_array_mut().unwrap().pop()), "tenon_model_open"),
        (|d| d["functions"][0]["returns"] = "void".into(), "tenon_model_open"),
        (|d| d["callbacks"][0]["returns"] = "void".into(), "tenon_piece_callback"),
        (|d| d["version"] = "1.0.0".into(), "major"),
        (|d| d["structs"][0]["fields"][1]["offset"] = Value::Null, "without a place"),
    ];
    for (change, reason) in changes {
        let mut interface = interface();
        change(&mut interface);
        let reasons = misfits_of(&interface, &TENON);
        assert!(reasons[0].contains(reason), "{reasons:?}");
    }
}

#[test]
fn new_functions_and_missing_ones_are_harmless() {
    let mut interface = interface();
    let functions = interface["functions"].as_array_mut().unwrap();
    functions.pop();
    functions.push(json!({"name": "tenon_fresh", "returns": "void", "parameters": []}));
    assert_eq!(misfits_of(&interface, &TENON), [] as [&str; 0]);
}
