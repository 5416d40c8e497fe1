//! What the parser of coverage maps takes on trust, looked at before it is asked.
//!
//! It makes room for as many expressions, and for as long a list of paths, as a number in the executable says, and an allocation
//! that fails can't be caught. So numbers that nothing stands behind are refused here, and what is compressed is first inflated
//! up to a limit: it may grow to a thousand times its size. The layout is LLVM's (`CoverageMappingReader`, `InstrProfReader`).

use object::{Object, ObjectSection, ReadCache};
use std::io::{BufReader, Read};

/// No source file has more lines: lines are gone through one by one.
const MOST_LINES: u64 = 1 << 21;
/// Most bytes of the paths of one table, each made absolute.
const MOST_OF_PATHS: u64 = 1 << 26;
/// Most bytes of the names of all functions.
const MOST_OF_NAMES: u64 = 1 << 28;
/// Bytes of a function's record before its mapping.
const HEAD: usize = 28;
/// Bytes of the head of a table of files.
const TABLE_HEAD: usize = 16;

/// Checks the sections with functions, with paths and with names of an object file; one without them passes.
pub(super) fn check(file: std::fs::File) -> Result<(), String> {
    let cache = ReadCache::new(BufReader::new(file));
    // What is no object file is for the parser to say.
    let Ok(object) = object::File::parse(&cache) else { return Ok(()) };
    let section = |names: [&str; 2]| names.iter().find_map(|name| object.section_by_name(name)?.data().ok());
    section(["__llvm_covfun", ".lcovfun"]).map_or(Ok(()), functions)?;
    section(["__llvm_covmap", ".lcovmap"]).map_or(Ok(()), |data| tables(data, object.is_little_endian()))?;
    section(["__llvm_prf_names", ".lprfn"]).map_or(Ok(()), |mut data| {
        let mut room = MOST_OF_NAMES;
        // Zeros are padding.
        while let Some(at) = data.iter().position(|byte| *byte != 0) {
            data = names(&data[at..], &mut room)?;
        }
        Ok(())
    })
}

/// Checks the names of a profile, which end `after` bytes before the end of `data`.
pub(super) fn profile_names(mut data: &[u8], after: usize) -> Result<(), String> {
    let mut room = MOST_OF_NAMES;
    while data.len() > after {
        data = names(data, &mut room)?;
    }
    Ok(())
}

/// Checks a chunk of names and gives what is behind it.
fn names<'a>(data: &'a [u8], room: &mut u64) -> Result<&'a [u8], String> {
    let mut bytes = Bytes(data);
    let (plain, compressed) = (bytes.number()?, bytes.number()?);
    match compressed {
        0 => drop(bytes.take(usize::try_from(plain).unwrap_or(usize::MAX))?),
        size => *room -= inflated(bytes.take(usize::try_from(size).unwrap_or(usize::MAX))?, *room)?,
    }
    Ok(bytes.0)
}

/// How many bytes that comes to, which may be no more than `most`.
fn inflated(compressed: &[u8], most: u64) -> Result<u64, String> {
    let mut stream = flate2::read::ZlibDecoder::new(compressed).take(most + 1);
    // Where the stream is damaged the parser ends, too.
    let size = std::io::copy(&mut stream, &mut std::io::sink()).map_err(|e| e.to_string())?;
    if size > most {
        return Err(format!("{} compressed bytes come to more than {most}", compressed.len()));
    }
    Ok(size)
}

/// The bytes that are left.
struct Bytes<'a>(&'a [u8]);

impl<'a> Bytes<'a> {
    fn take(&mut self, length: usize) -> Result<&'a [u8], String> {
        let (taken, rest) = self.0.split_at_checked(length).ok_or("it ends too early")?;
        self.0 = rest;
        Ok(taken)
    }

    /// A number of variable length (LEB128).
    fn number(&mut self) -> Result<u64, String> {
        let mut value = 0;
        for shift in (0..u64::BITS).step_by(7) {
            let [byte] = self.take(1)? else { break };
            value |= u64::from(byte & 0x7f) << shift;
            if byte & 0x80 == 0 {
                return Ok(value);
            }
        }
        Err("a number is too long".to_owned())
    }

    fn numbers(&mut self, count: u64) -> Result<(), String> {
        (0..count).try_for_each(|_| self.number().map(drop))
    }

    /// A number of things that take at least `size` bytes each.
    fn count(&mut self, size: u64) -> Result<u64, String> {
        let count = self.number()?;
        if count > self.0.len() as u64 / size {
            return Err(format!("it says that {count} things follow, and ends before"));
        }
        Ok(count)
    }

    /// Leaves the padding to the next multiple of 8 bytes out.
    fn align(&mut self, whole: usize) {
        let padding = (whole - self.0.len()).next_multiple_of(8) - (whole - self.0.len());
        self.0 = self.0.get(padding..).unwrap_or_default();
    }
}

fn functions(section: &[u8]) -> Result<(), String> {
    let mut bytes = Bytes(section);
    while !bytes.0.is_empty() {
        bytes.take(HEAD)?;
        function(&mut bytes)?;
        bytes.align(section.len());
    }
    Ok(())
}

fn function(bytes: &mut Bytes<'_>) -> Result<(), String> {
    let files = bytes.count(1)?;
    bytes.numbers(files)?;
    let expressions = bytes.count(2)?;
    for _ in 0..expressions * 2 {
        counter(bytes.number()?, expressions)?;
    }
    for _ in 0..files {
        let mut line = 0u64;
        for _ in 0..bytes.count(5)? {
            let head = bytes.number()?;
            counter(head, expressions)?;
            // A region without a counter says of what kind it is, unless it is an expansion.
            match head {
                h if h & 0b111 != 0 => {}
                h => match h >> 3 {
                    4 => counters(bytes, expressions)?,
                    5 => bytes.numbers(2)?,
                    6 => {
                        counters(bytes, expressions)?;
                        bytes.numbers(3)?;
                    }
                    _ => {}
                },
            }
            line = line.saturating_add(bytes.number()?);
            bytes.number()?;
            let end = line.saturating_add(bytes.number()?);
            bytes.number()?;
            if end > MOST_LINES {
                return Err(format!("a region ends in line {end}"));
            }
        }
    }
    Ok(())
}

fn counters(bytes: &mut Bytes<'_>, expressions: u64) -> Result<(), String> {
    (0..2).try_for_each(|_| counter(bytes.number()?, expressions))
}

/// A counter is what its two lowest bits say, and a number; from 2 on, that of an expression.
fn counter(encoded: u64, expressions: u64) -> Result<(), String> {
    if encoded & 0b11 >= 2 && encoded >> 2 >= expressions {
        return Err(format!("there is no expression number {}", encoded >> 2));
    }
    Ok(())
}

fn tables(section: &[u8], little_endian: bool) -> Result<(), String> {
    let mut bytes = Bytes(section);
    while !bytes.0.is_empty() {
        let head = bytes.take(TABLE_HEAD)?;
        let length: [u8; 4] = head[4..8].try_into().map_err(|_| "it ends too early")?;
        let length = if little_endian { u32::from_le_bytes(length) } else { u32::from_be_bytes(length) };
        let mut table = Bytes(bytes.take(length as usize)?);
        let paths = table.number()?;
        let (plain, compressed) = (table.number()?, table.number()?);
        let all = match compressed {
            // The first is the folder that the others count from.
            0 => paths.saturating_mul(table.number()?.saturating_add(1)).saturating_add(plain),
            _ => plain,
        };
        if all > MOST_OF_PATHS {
            return Err(format!("the paths of a table have {all} bytes"));
        }
        if compressed != 0 {
            inflated(table.take(usize::try_from(compressed).unwrap_or(usize::MAX))?, MOST_OF_PATHS)?;
        }
        bytes.align(section.len());
    }
    Ok(())
}

#[cfg(test)]
mod unit {
    use super::*;

    /// A function's record: a head, then numbers of one byte each.
    fn record(numbers: &[u8]) -> Vec<u8> {
        [&[0; HEAD], numbers].concat()
    }

    #[test]
    fn a_record_with_an_expression_and_a_region_passes() {
        // One file, one expression of counters 0 and 1, one region that it counts: line 3, columns 1 to 9.
        assert_eq!(functions(&record(&[1, 0, 1, 1, 5, 1, 2, 3, 1, 0, 9])), Ok(()));
    }

    #[test]
    fn an_expression_that_is_not_there_is_refused() {
        let e = functions(&record(&[1, 0, 0, 1, 0xfe, 0xff, 0xff, 0xff, 0x0f, 3, 1, 0, 9])).unwrap_err();
        assert_eq!(e, "there is no expression number 1073741823");
    }

    #[test]
    fn more_things_than_bytes_are_refused() {
        assert!(functions(&record(&[1, 0, 0xff, 0xff, 0xff, 0x7f])).unwrap_err().contains("things follow"));
        assert_eq!(functions(&[1, 2, 3]).unwrap_err(), "it ends too early");
    }

    #[test]
    fn a_region_of_endless_lines_is_refused() {
        let e = functions(&record(&[1, 0, 0, 1, 1, 3, 1, 0xff, 0xff, 0xff, 0x7f, 9])).unwrap_err();
        assert_eq!(e, "a region ends in line 268435458");
    }

    fn compressed(bytes: &[u8]) -> Vec<u8> {
        let mut stream = flate2::write::ZlibEncoder::new(Vec::new(), flate2::Compression::default());
        std::io::Write::write_all(&mut stream, bytes).unwrap();
        let data = stream.finish().unwrap();
        [&[1, data.len() as u8], &data[..]].concat()
    }

    #[test]
    fn names_that_grow_without_bounds_are_refused() {
        let (plain, chunk) = ([&[2, 0], &b"ab"[..]].concat(), compressed(&[0; 1000]));
        let both = [&plain[..], &chunk, &[7]].concat();
        let mut room = 1000;
        assert_eq!(names(&both, &mut room).unwrap(), &both[4..]);
        assert_eq!((names(&both[4..], &mut room).unwrap(), room), (&[7][..], 0));
        assert_eq!(
            names(&chunk, &mut 999).unwrap_err(),
            format!("{} compressed bytes come to more than 999", chunk.len() - 2)
        );
        assert_eq!(profile_names(&both, 1), Ok(()));
        assert!(profile_names(&both, 0).is_err());
    }

    #[test]
    fn a_list_of_paths_that_grows_without_bounds_is_refused() {
        let table = |numbers: &[u8]| [&[0, 0, 0, 0, numbers.len() as u8, 0, 0, 0, 0, 0, 0, 0, 6, 0, 0, 0], numbers].concat();
        assert_eq!(tables(&table(&[1, 3, 0, 2, b'/', b'p']), true), Ok(()));
        assert!(tables(&table(&[0xff, 0xff, 0x7f, 3, 0, 0x7f, b'/']), true).is_err());
        assert!(tables(&table(&[1, 0xff, 0xff, 0xff, 0xff, 0x0f, 1, 0]), true).is_err());
    }
}
