//! The pictures in `docs/images`, with which the README opens: screens of the program on a terminal with
//! colors, as SVG for light and dark pages. `UPDATE_PICTURES=1 cargo test --test program pictures`
//! regenerates them.

use std::collections::BTreeSet;
use std::fmt::Write;
use std::path::Path;
use std::{env, fs};

use clap::Parser;
use kubectl_hpa::args::Cli;
use kubectl_hpa::command::{self, Terminal};
use unicode_width::UnicodeWidthStr;

/// The screens: the name of the picture, and the arguments as they are typed.
const SCREENS: [(&str, &str); 3] = [
    ("finding", "explain checkout -f examples/checkout"),
    (
        "what-if",
        "predict nginx-deployment -f examples/nginx --cpu 27% --curve cpu",
    ),
    (
        "backtest",
        "predict web -n shop -f examples/backtest/state.yaml \\\n    \
         --trace examples/backtest/week.csv --hpa examples/backtest/candidate.yaml",
    ),
];

/// Columns of the terminal.
const COLUMNS: usize = 100;

/// The size of a character, and of the margin.
const WIDTH: f64 = 7.8;
const HEIGHT: f64 = 15.0;
const MARGIN: f64 = 20.0;

/// The colors of a page.
struct Theme {
    name: &'static str,
    background: &'static str,
    border: &'static str,
    text: &'static str,
    prompt: &'static str,
    /// The text in the colors of a terminal, by their codes.
    colors: [(u8, &'static str); 4],
}

const THEMES: [Theme; 2] = [
    Theme {
        name: "light",
        background: "#ffffff",
        border: "#d1d9e0",
        text: "#1f2328",
        prompt: "#59636e",
        colors: [
            (31, "#cf222e"),
            (32, "#1a7f37"),
            (35, "#8250df"),
            (36, "#0a6c74"),
        ],
    },
    Theme {
        name: "dark",
        background: "#0d1117",
        border: "#3d444d",
        text: "#e6edf3",
        prompt: "#9198a1",
        colors: [
            (31, "#ff7b72"),
            (32, "#3fb950"),
            (35, "#d2a8ff"),
            (36, "#56d4dd"),
        ],
    },
];

/// What the program prints on a terminal.
fn screen(arguments: &str) -> String {
    let words = arguments.split_whitespace().filter(|word| *word != "\\");
    let cli =
        Cli::try_parse_from(["kubectl-hpa"].into_iter().chain(words)).expect("valid arguments");
    let terminal = Terminal {
        width: Some(COLUMNS),
        ..Terminal::default()
    };
    let answer = command::run(&cli, &terminal).expect("an answer");
    assert!(
        answer.errors.is_empty() && answer.messages.is_empty(),
        "{answer:?}"
    );
    answer.text
}

/// A piece of a line that is drawn at its own place, so that columns are aligned in every font.
struct Piece<'t> {
    column: usize,
    /// The codes of its style, separated by semicolons.
    style: &'t str,
    text: &'t str,
}

/// Splits a screen into lines, and these at changes of style and at gaps.
fn lines(screen: &str) -> Vec<Vec<Piece<'_>>> {
    let mut style = "0";
    let mut lines = Vec::new();
    for line in screen.trim_end().lines() {
        let (mut column, mut pieces) = (0, Vec::new());
        for (place, run) in line.split("\u{1b}[").enumerate() {
            let text = match place {
                0 => run,
                _ => {
                    let (codes, text) = run.split_once('m').expect("a style");
                    style = codes;
                    text
                }
            };
            for (place, part) in text.split("  ").enumerate() {
                column += if place == 0 { 0 } else { 2 };
                let spaces = part.len() - part.trim_start().len();
                if !part.trim().is_empty() {
                    pieces.push(Piece {
                        column: column + spaces,
                        style,
                        text: part.trim(),
                    });
                }
                column += part.width();
            }
        }
        assert!(column <= COLUMNS, "{column} columns: {line}");
        lines.push(pieces);
    }
    lines
}

/// Draws a command and its screen.
fn picture(arguments: &str, screen: &str, theme: &Theme) -> String {
    let command = format!("$ kubectl hpa {arguments}");
    let lines = lines(screen);
    let width = COLUMNS as f64 * WIDTH + 2.0 * MARGIN;
    let height = (command.lines().count() + 1 + lines.len()) as f64 * HEIGHT + 2.0 * MARGIN;
    let Theme {
        background,
        border,
        text,
        prompt,
        colors,
        ..
    } = theme;
    let mut svg = format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {width:.0} {height:.0}\" \
         width=\"{width:.0}\" height=\"{height:.0}\" role=\"img\" aria-labelledby=\"title\">\n\
         <title id=\"title\">{}</title>\n<style>\n\
         text {{ font: 13px ui-monospace, SFMono-Regular, Menlo, Consolas, \
         \"DejaVu Sans Mono\", monospace; fill: {text}; }}\n\
         .prompt {{ fill: {prompt}; }}\n.c1 {{ font-weight: bold; }}\n",
        escape(&command.replace(" \\\n   ", ""))
    );
    let mut add = |text: String| {
        svg.push_str(&text);
        svg.push('\n');
    };
    for (code, color) in colors {
        add(format!(".c{code} {{ fill: {color}; }}"));
    }
    add(format!(
        "</style>\n<rect x=\".5\" y=\".5\" width=\"{:.0}\" height=\"{:.0}\" rx=\"8\" \
         fill=\"{background}\" stroke=\"{border}\"/>",
        width - 1.0,
        height - 1.0
    ));
    let mut y = MARGIN + 13.0;
    let draw = |column: usize, y: f64, class: &str, text: &str| {
        let x = MARGIN + column as f64 * WIDTH;
        let length = text.width() as f64 * WIDTH;
        format!(
            "<text x=\"{x:.1}\" y=\"{y:.0}\" {class}textLength=\"{length:.1}\" \
             lengthAdjust=\"spacingAndGlyphs\">{}</text>",
            escape(text)
        )
    };
    for line in command.lines() {
        let column = line.len() - line.trim_start().len();
        add(draw(column, y, "class=\"prompt\" ", line.trim_start()));
        y += HEIGHT;
    }
    y += HEIGHT;
    for line in &lines {
        for Piece {
            column,
            style,
            text,
        } in line
        {
            add(draw(*column, y, &class(style, theme), text));
        }
        y += HEIGHT;
    }
    svg.push_str("</svg>\n");
    svg
}

/// The attribute for a style.
fn class(style: &str, theme: &Theme) -> String {
    let codes: Vec<u8> = style
        .split(';')
        .map(|code| code.parse().expect("a number"))
        .collect();
    let is_known = |code: &u8| *code == 1 || theme.colors.iter().any(|(known, _)| known == code);
    match &*codes {
        [0] => String::new(),
        codes => {
            assert!(codes.iter().all(is_known), "there is no color for {style}");
            let mut class = String::from("class=\"");
            for (place, code) in codes.iter().enumerate() {
                let space = if place == 0 { "" } else { " " };
                let _ = write!(class, "{space}c{code}");
            }
            class + "\" "
        }
    }
}

fn escape(text: &str) -> String {
    text.replace('&', "&amp;")
        .replace('<', "&lt;")
        .replace('>', "&gt;")
}

#[test]
fn pictures_show_what_the_program_prints() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let directory = root.join("docs/images");
    let update = env::var_os("UPDATE_PICTURES").is_some();
    let mut names = BTreeSet::new();
    for (title, arguments) in SCREENS {
        let screen = screen(arguments);
        for theme in &THEMES {
            let name = format!("{title}-{}.svg", theme.name);
            let picture = picture(arguments, &screen, theme);
            roxmltree::Document::parse(&picture).expect("XML");
            let path = directory.join(&name);
            if update {
                fs::create_dir_all(&directory).expect("a directory");
                fs::write(&path, &picture).expect("it is written");
            }
            let committed = fs::read_to_string(&path).unwrap_or_default();
            assert!(
                committed == picture,
                "docs/images/{name} is out of date: UPDATE_PICTURES=1 cargo test --test program \
                 pictures"
            );
            names.insert(name);
        }
    }
    let there = fs::read_dir(&directory).expect("pictures");
    let there: BTreeSet<String> = there
        .map(|entry| {
            entry
                .expect("an entry")
                .file_name()
                .into_string()
                .expect("a name")
        })
        .collect();
    assert_eq!(there, names);
    let readme = fs::read_to_string(root.join("README.md")).expect("the README");
    for (screen, _) in SCREENS {
        let dark = format!(
            "<source media=\"(prefers-color-scheme: dark)\" srcset=\"docs/images/{screen}-dark.svg\">"
        );
        let light = format!("<img src=\"docs/images/{screen}-light.svg\" alt=\"");
        assert!(
            readme.contains(&dark) && readme.contains(&light),
            "README.md lacks {screen}"
        );
        // Each number in the words for those who do not see the picture is in the picture.
        let (_, rest) = readme.split_once(&light).expect("the words");
        let (words, _) = rest.split_once('"').expect("an end");
        let picture = fs::read_to_string(directory.join(format!("{screen}-light.svg")));
        let picture = picture.expect("a picture");
        let numbers = words.split(|c: char| !c.is_ascii_digit() && c != '.' && c != '%');
        let numbers = numbers.map(|word| word.trim_end_matches('.'));
        for number in numbers.filter(|word| !word.is_empty()) {
            assert!(
                picture.contains(number),
                "the picture of {screen} has no {number}: {words}"
            );
        }
    }
}
