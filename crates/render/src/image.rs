//! Pictures on a terminal, with kitty's protocol, iTerm's or sixels. A line of text replaces them
//! on other terminals.
//!
//! A picture takes a block of whole lines. All lines but the last are empty. The last one moves the
//! cursor up, draws, and moves it back. So the screen has scrolled before the picture is drawn, and
//! the text around it is not affected. The data is sent as bytes, never as the name of a file that
//! the terminal would read.

use std::io::Cursor;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use image::imageops::{ColorMap, FilterType, dither};
use image::{DynamicImage, ImageReader, Limits, Rgb, RgbaImage};

use super::palette::{Tone, paint};
use super::{units, width};
use haft_tool::{ImageProtocol, RenderOptions, Screen, TerminalText, terminal_text};

/// The largest block of a picture, unless its size is given.
const MAX_ROWS: u32 = 24;
const MAX_COLUMNS: u32 = 80;

/// Limit of the decoded pictures, in pixels. Larger ones are only named.
const MAX_PIXELS: u64 = 64 << 20;

/// Limit of the payload of one escape sequence of kitty's protocol.
const CHUNK: usize = 4096;

/// Returns the lines of the block for a picture in a result.
pub fn lines(data: &str, mime_type: &str, look: &RenderOptions) -> Vec<TerminalText> {
    let dimensions = decode(data).and_then(|bytes| dimensions(&bytes));
    let drawn = dimensions.and_then(|dimensions| {
        let room = u32::try_from(look.width).unwrap_or(u32::MAX);
        let (columns, rows) = block(dimensions, room.min(MAX_COLUMNS), &look.screen);
        let picture = sequence(data, columns, rows, &look.screen)?;
        let mut lines = vec![TerminalText::new(); rows as usize - 1];
        lines.push(picture);
        Some(lines)
    });
    drawn.unwrap_or_else(|| {
        let line = placeholder(data, mime_type, dimensions);
        let line = width::cut(&line, look.width);
        vec![paint(&look.screen, Tone::Muted, &line)]
    })
}

/// Returns the sequences for the mark `COLUMNS;ROWS;BASE64` in the line `row`, if the picture fits
/// there.
pub fn from_mark(mark: &str, row: usize, room: usize, screen: &Screen) -> Option<TerminalText> {
    let mut parts = mark.splitn(3, ';');
    let columns: u32 = parts.next()?.parse().ok()?;
    let rows: u32 = parts.next()?.parse().ok()?;
    let data = parts.next()?;
    let fits = columns as usize <= room && (1..=row + 1).contains(&(rows as usize));
    if columns == 0 || !fits {
        return None;
    }
    sequence(data, columns, rows, screen)
}

fn placeholder(data: &str, mime_type: &str, dimensions: Option<(u32, u32)>) -> TerminalText {
    let size = units::bytes(units::base64_len(data));
    let pixels =
        dimensions.map_or_else(String::new, |(width, height)| format!(" {width}x{height},"));
    terminal_text!("[image {mime_type},{pixels} {size}]")
}

/// Returns the columns and rows of a picture: its own size, or the largest that fits.
fn block((width, height): (u32, u32), room: u32, screen: &Screen) -> (u32, u32) {
    let (cell_width, cell_height) = (u32::from(screen.cell.0), u32::from(screen.cell.1));
    let columns = width.div_ceil(cell_width.max(1)).clamp(1, room.max(1));
    let rows_of = |columns: u32| {
        let height = u64::from(height) * u64::from(columns) * u64::from(cell_width);
        let rows = height.div_ceil(u64::from(width.max(1)) * u64::from(cell_height.max(1)));
        u32::try_from(rows).unwrap_or(u32::MAX).max(1)
    };
    let rows = rows_of(columns);
    if rows <= MAX_ROWS {
        return (columns, rows);
    }
    let columns = (u64::from(columns) * u64::from(MAX_ROWS) / u64::from(rows)).max(1);
    let columns = u32::try_from(columns).unwrap_or(1);
    (columns, rows_of(columns).min(MAX_ROWS))
}

/// Returns the sequence that draws a picture upwards from the last line of its block. It leaves the
/// cursor where it was.
fn sequence(data: &str, columns: u32, rows: u32, screen: &Screen) -> Option<TerminalText> {
    let picture = match screen.images? {
        ImageProtocol::Kitty => kitty(data, columns, rows)?,
        ImageProtocol::Iterm => iterm(data, columns, rows)?,
        ImageProtocol::Sixel => sixel(data, columns, rows, screen)?,
    };
    let up = match rows {
        0 | 1 => TerminalText::new(),
        rows => terminal_text!("\x1b[{}A", rows - 1),
    };
    Some(terminal_text!("\x1b7{up}{picture}\x1b8"))
}

/// Encodes a picture for kitty, which accepts PNG; other formats are converted to PNG.
fn kitty(data: &str, columns: u32, rows: u32) -> Option<TerminalText> {
    let bytes = decode(data)?;
    let png = match image::guess_format(&bytes).ok()? {
        image::ImageFormat::Png => STANDARD.encode(&bytes),
        _ => STANDARD.encode(to_png(&pixels(&bytes)?)?),
    };
    let mut sequences = TerminalText::new();
    let mut first = terminal_text!("a=T,f=100,q=2,C=1,c={columns},r={rows},");
    let mut rest = png.as_str();
    while !rest.is_empty() {
        let (chunk, remains) = rest.split_at(rest.len().min(CHUNK));
        rest = remains;
        let more = u8::from(!rest.is_empty());
        sequences.push(&terminal_text!("\x1b_G{first}m={more};{chunk}\x1b\\"));
        first = TerminalText::new();
    }
    Some(sequences)
}

fn iterm(data: &str, columns: u32, rows: u32) -> Option<TerminalText> {
    let bytes = decode(data)?;
    image::guess_format(&bytes).ok()?;
    let size = bytes.len();
    let data = STANDARD.encode(&bytes);
    Some(terminal_text!(
        "\x1b]1337;File=inline=1;size={size};width={columns};height={rows};preserveAspectRatio=1:{data}\x07"
    ))
}

fn sixel(data: &str, columns: u32, rows: u32, screen: &Screen) -> Option<TerminalText> {
    let picture = pixels(&decode(data)?)?;
    let width = columns * u32::from(screen.cell.0);
    let height = rows * u32::from(screen.cell.1);
    let picture = picture.resize(width, height, FilterType::Triangle);
    let mut pixels = on_ground(&picture.to_rgba8(), screen);
    dither(&mut pixels, &Cube);
    let (width, height) = pixels.dimensions();
    let mut sixels = String::new();
    for index in 0..Cube::COLORS {
        let [red, green, blue] = Cube::levels(index).map(|level| level * 20);
        sixels.push_str(&format!("#{index};2;{red};{green};{blue}"));
    }
    for top in (0..height).step_by(6) {
        band(&mut sixels, &pixels, top);
    }
    Some(terminal_text!(
        "\x1bP0;1;0q\"1;1;{width};{height}{sixels}\x1b\\"
    ))
}

/// Encodes six lines of pixels: for each of their colours, one character per column of six pixels.
fn band(sixels: &mut String, pixels: &image::RgbImage, top: u32) {
    let (width, height) = pixels.dimensions();
    let mut columns: Vec<Option<Vec<u8>>> = vec![None; Cube::COLORS];
    for line in 0..(height - top).min(6) {
        for column in 0..width {
            let index = Cube.index_of(pixels.get_pixel(column, top + line));
            let bits = columns[index].get_or_insert_with(|| vec![0; width as usize]);
            bits[column as usize] |= 1 << line;
        }
    }
    for (index, bits) in columns.iter().enumerate() {
        let Some(bits) = bits else { continue };
        sixels.push_str(&format!("#{index}"));
        for run in bits.chunk_by(|one, next| one == next) {
            let character = char::from(b'?' + run[0]);
            match run.len() {
                1..=3 => sixels.extend(std::iter::repeat_n(character, run.len())),
                count => sixels.push_str(&format!("!{count}{character}")),
            }
        }
        sixels.push('$');
    }
    sixels.push('-');
}

/// Palette with six levels of red, green and blue.
struct Cube;

impl Cube {
    const COLORS: usize = 216;

    fn levels(index: usize) -> [usize; 3] {
        [index / 36, index / 6 % 6, index % 6]
    }
}

impl ColorMap for Cube {
    type Color = Rgb<u8>;

    fn index_of(&self, color: &Rgb<u8>) -> usize {
        let [red, green, blue] = color.0.map(|value| (usize::from(value) * 5 + 127) / 255);
        red * 36 + green * 6 + blue
    }

    fn map_color(&self, color: &mut Rgb<u8>) {
        let levels = Cube::levels(self.index_of(color));
        // A level is at most 5.
        *color = Rgb(levels.map(|level| u8::try_from(level * 51).unwrap_or(u8::MAX)));
    }
}

/// Blends a picture with the background of the screen, because sixels are opaque here.
fn on_ground(picture: &RgbaImage, screen: &Screen) -> image::RgbImage {
    let ground = if screen.is_light { 255 } else { 0 };
    image::RgbImage::from_fn(picture.width(), picture.height(), |column, row| {
        let [red, green, blue, alpha] = picture.get_pixel(column, row).0;
        let mix = |value: u8| {
            let mixed = u32::from(value) * u32::from(alpha) + ground * (255 - u32::from(alpha));
            u8::try_from(mixed / 255).unwrap_or(u8::MAX)
        };
        Rgb([mix(red), mix(green), mix(blue)])
    })
}

fn decode(data: &str) -> Option<Vec<u8>> {
    STANDARD.decode(data.trim()).ok()
}

fn dimensions(bytes: &[u8]) -> Option<(u32, u32)> {
    let reader = ImageReader::new(Cursor::new(bytes)).with_guessed_format();
    let (width, height) = reader.ok()?.into_dimensions().ok()?;
    let is_sane = width > 0 && height > 0 && u64::from(width) * u64::from(height) <= MAX_PIXELS;
    is_sane.then_some((width, height))
}

fn pixels(bytes: &[u8]) -> Option<DynamicImage> {
    dimensions(bytes)?;
    let mut reader = ImageReader::new(Cursor::new(bytes))
        .with_guessed_format()
        .ok()?;
    let mut limits = Limits::default();
    limits.max_alloc = Some(MAX_PIXELS * 4);
    reader.limits(limits);
    reader.decode().ok()
}

fn to_png(picture: &DynamicImage) -> Option<Vec<u8>> {
    let mut png = Vec::new();
    picture
        .write_to(&mut Cursor::new(&mut png), image::ImageFormat::Png)
        .ok()?;
    Some(png)
}
