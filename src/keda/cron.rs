//! Checks whether a text is a schedule of a cron trigger: five fields as `robfig/cron` v3 parses them
//! without descriptors (`getRange` and `parseIntOrName` in its `parser.go`). The times of a schedule are
//! not computed.

/// The minimum and maximum value of each field, and the names of values from the minimum on.
const FIELDS: [(u32, u32, &[&str]); 5] = [
    (0, 59, &[]),
    (0, 23, &[]),
    (1, 31, &[]),
    (
        1,
        12,
        &[
            "jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec",
        ],
    ),
    (0, 6, &["sun", "mon", "tue", "wed", "thu", "fri", "sat"]),
];

/// Whether the text is a schedule. A time zone may precede it.
pub(super) fn is_schedule(text: &str) -> bool {
    let zone = |it: &str| it.starts_with("TZ=") || it.starts_with("CRON_TZ=");
    let mut fields: Vec<&str> = text.split_whitespace().collect();
    if fields.first().is_some_and(|first| zone(first)) {
        fields.remove(0);
    }
    fields.len() == FIELDS.len()
        && fields.iter().zip(&FIELDS).all(|(text, field)| {
            text.split(',')
                .filter(|it| !it.is_empty())
                .all(|it| is_range(it, *field))
        })
}

/// Whether the text is `*`, a value or a range of two values, each with an optional step.
fn is_range(text: &str, (least, greatest, names): (u32, u32, &[&str])) -> bool {
    let end = |text| value(text, least, names);
    let (range, step) = match text.split_once('/') {
        Some((range, step)) => (range, Some(step)),
        None => (text, None),
    };
    let ends = match range.split_once('-') {
        None if matches!(range, "*" | "?") => Some((least, greatest)),
        None => end(range).map(|own| (own, own)),
        // The part after `*-` is not read.
        Some(("*" | "?", rest)) => (!rest.contains('-')).then_some((least, greatest)),
        Some((from, to)) => end(from).zip(end(to)),
    };
    ends.is_some_and(|(from, to)| least <= from && from <= to && to <= greatest)
        && step.is_none_or(|step| step.parse::<u32>().is_ok_and(|step| step > 0))
}

/// Returns a number, or the place of a name, counted from the minimum.
fn value(text: &str, least: u32, names: &[&str]) -> Option<u32> {
    let lower = text.to_lowercase();
    match names.iter().position(|name| *name == lower) {
        Some(place) => u32::try_from(place).ok().map(|place| least + place),
        None => lower.parse().ok(),
    }
}

#[cfg(test)]
mod tests {
    use super::is_schedule;

    /// `testCronMetadata` in KEDA's `cron_scaler_test.go`, and the syntax that robfig/cron documents.
    #[test]
    fn five_fields_within_their_bounds() {
        for schedule in [
            "0 0 * * Thu",
            "59 23 * * Thu",
            "0 */2 * * *",
            "0 1-23/2 * * *",
            "0,30 * * * *",
            "30-33 * * * *",
            "0 8 ? jan-MAR mon-fri",
            "TZ=Asia/Kolkata 0 8 * * 1",
            "+1 * * * *",
            "*-5 * * * *",
        ] {
            assert!(is_schedule(schedule), "{schedule}");
        }
        for schedule in [
            "",
            "-30 * * * *",
            "50 * * -3 *",
            "60 * * * *",
            "* * 0 * *",
            "* * * * 7",
            "5-1 * * * *",
            "*/0 * * * *",
            "* * * *",
            "* * * * * *",
            "@daily",
            "1-2-3 * * * *",
            "*-5-6 * * * *",
            "+-1 * * * *",
        ] {
            assert!(!is_schedule(schedule), "{schedule}");
        }
    }
}
