use super::*;
use crate::format::{Level, Part, TensorFormat};
use crate::scalar::{Literal, ScalarType};
use values::Number;

/// The folder with real data: `SPARSEC_DATA`, or `shared/data` beside a parent.
pub(crate) fn data_folder() -> Option<PathBuf> {
    if let Some(folder) = std::env::var_os("SPARSEC_DATA") {
        return Some(PathBuf::from(folder));
    }
    Path::new(env!("CARGO_MANIFEST_DIR"))
        .ancestors()
        .map(|parent| parent.join("shared/data"))
        .find(|folder| folder.is_dir())
}

#[test]
fn malformed_files_are_refused_and_odd_ones_read() {
    let Some(folder) = data_folder() else {
        println!("skipped: no data folder (set SPARSEC_DATA)");
        return;
    };
    let table = std::fs::read_to_string(folder.join("bad/EXPECT.tsv")).unwrap();
    let mut wrong = Vec::new();
    for row in table.lines().skip(1) {
        let columns: Vec<&str> = row.split('\t').collect();
        let mut result = read(&folder.join("bad").join(columns[0]));
        if columns[0] == "integer_overflow.mtx" {
            // 2^63: there is a type that holds it, but it is not the signed one.
            result = result.and_then(|tensor| match tensor {
                Tensor::Sparse(coo) => match fit::convert(&coo.values, ScalarType::I64) {
                    Ok(_) => Ok(Tensor::Sparse(coo)),
                    Err((_, _, reason)) => Err(DataError::new(codes::OF_ANOTHER_TYPE, reason)),
                },
                Tensor::Dense(_) => Ok(tensor),
            });
        }
        let right = match columns[1] {
            "no" => result.is_err(),
            "yes" => result.is_ok(),
            _ => true,
        };
        if !right {
            wrong.push(format!("{row}: {result:?}"));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

fn element(tensor: &Tensor, at: &[u64]) -> f64 {
    let Ok(dense) = write::densify(tensor, Literal::ZERO) else {
        panic!("too large")
    };
    let at = at.iter().zip(&dense.dims).fold(0, |n, (c, d)| n * d + c);
    dense.values.get(usize::try_from(at).unwrap()).real()
}

#[test]
fn columns_without_rows_take_no_time() {
    let text = b"%%MatrixMarket matrix array integer general\n0 9000000000000000000\n";
    assert!(parse(FileKind::MatrixMarket, text).is_ok());
}

fn npy(version: &[u8; 2], header: &str, data: &[u8]) -> Vec<u8> {
    let mut bytes = b"\x93NUMPY".to_vec();
    bytes.extend(version);
    let length = header.len().to_le_bytes();
    bytes.extend(&length[..if version[0] == 1 { 2 } else { 4 }]);
    bytes.extend(header.as_bytes());
    bytes.extend(data);
    bytes
}

#[test]
fn npy_headers_are_read_strictly() {
    let header = |descr: &str, fortran: &str, shape: &str| {
        format!("{{'descr': '{descr}', 'fortran_order': {fortran}, 'shape': {shape}, }}")
    };
    let read = |version: &[u8; 2], header: &str, data: &[u8]| {
        parse(FileKind::Numpy, &npy(version, header, data))
    };
    let eight = [0u8; 8];
    let right = header("<f8", "False", "(1,)");
    for version in [[1, 0], [2, 0], [3, 0]] {
        assert!(read(&version, &right, &eight).is_ok(), "{version:?}");
    }
    for version in [[0, 0], [1, 1], [4, 0], [9, 0]] {
        assert!(read(&version, &right, &eight).is_err(), "{version:?}");
    }
    for (descr, fortran, shape) in [
        ("|f8", "False", "(1,)"),
        ("|i8", "False", "(1,)"),
        ("<f8", "Maybe", "(1,)"),
        ("<f8", "False", "1"),
        ("<f8", "False", "(1"),
        ("<f8", "False", "(-1,)"),
    ] {
        let wrong = header(descr, fortran, shape);
        assert!(read(&[1, 0], &wrong, &eight).is_err(), "{wrong}");
    }
    assert!(read(&[1, 0], "{'descr': '<f8', 'shape': (1,)}", &eight).is_err());
    for descr in ["|u1", "|b1", ">i1", "u1", "=u1"] {
        let byte = header(descr, "False", "(8,)");
        assert!(read(&[1, 0], &byte, &eight).is_ok(), "{byte}");
    }
}

#[test]
fn the_diagonal_of_a_hermitian_matrix_is_real() {
    let coordinate = |im: u8| {
        format!("%%MatrixMarket matrix coordinate complex hermitian\n2 2 2\n1 1 2 {im}\n2 1 1 3\n")
    };
    let array =
        |im: u8| format!("%%MatrixMarket matrix array complex hermitian\n2 2\n2 0\n1 3\n4 {im}\n");
    for text in [coordinate(0), array(0)] {
        assert!(
            parse(FileKind::MatrixMarket, text.as_bytes()).is_ok(),
            "{text}"
        );
    }
    for (text, line) in [(coordinate(1), 3), (array(1), 5)] {
        let error = parse(FileKind::MatrixMarket, text.as_bytes()).unwrap_err();
        assert_eq!(error.line, Some(line), "{error}");
    }
}

#[test]
fn whole_numbers_of_a_matrix_have_64_bits_signed_or_not() {
    let integers = |symmetry: &str, a: &str, b: &str| {
        let text = format!(
            "%%MatrixMarket matrix coordinate integer {symmetry}\n3 3 2\n2 1 {a}\n3 1 {b}\n"
        );
        parse(FileKind::MatrixMarket, text.as_bytes())
    };
    let values = |tensor: Result<Tensor, DataError>| match tensor {
        Ok(Tensor::Sparse(coo)) => coo.values,
        other => panic!("{other:?}"),
    };
    let largest = u64::MAX.to_string();
    let least = i64::MIN.to_string();
    assert_eq!(
        values(integers("general", &largest, "1")),
        Values::U64(vec![u64::MAX, 1])
    );
    assert_eq!(
        values(integers("general", &least, "1")),
        Values::I64(vec![i64::MIN, 1])
    );
    assert!(integers("general", &largest, "-1").is_err());
    assert!(integers("general", "1", "18446744073709551616").is_err());
    assert!(integers("skew-symmetric", "1", &largest).is_err());
    assert!(integers("skew-symmetric", "1", &least).is_err());
}

#[test]
fn unsigned_integers_are_what_scipy_writes_of_uint64() {
    let read = |symmetry: &str, value: &str| {
        let text = format!(
            "%%MatrixMarket matrix coordinate unsigned-integer {symmetry}\n2 2 1\n2 1 {value}\n"
        );
        parse(FileKind::MatrixMarket, text.as_bytes())
    };
    let largest = u64::MAX.to_string();
    let Ok(Tensor::Sparse(coo)) = read("symmetric", &largest) else {
        panic!("{largest}")
    };
    assert_eq!(coo.values, Values::U64(vec![u64::MAX; 2]));
    assert!(read("general", "7").is_ok());
    assert!(read("general", "-1").is_err() && read("skew-symmetric", "1").is_err());
    let text = b"%%MatrixMarket matrix coordinate real\n2 2 0\n";
    let error = parse(FileKind::MatrixMarket, text).unwrap_err();
    assert!(error.reason.contains("symmetry is missing"), "{error}");
}

#[test]
fn elements_have_lines() {
    let folder = tempfile::tempdir().unwrap();
    let line = |name: &str, text: &str, element| {
        let path = folder.path().join(name);
        std::fs::write(&path, text).unwrap();
        line_of(&path, element)
    };
    let coordinate = "%%MatrixMarket matrix coordinate real symmetric\n2 2 2\n2 1 5\n% no\n2 2 1\n";
    let lines = [0, 1, 2, 3].map(|element| line("a.mtx", coordinate, element));
    assert_eq!(lines, [Some(3), Some(3), Some(5), None]);
    // By columns, two of them on one line.
    let array = "%%MatrixMarket matrix array real general\n2 2\n1\n2\n3 4\n";
    let lines = [0, 1, 2, 3].map(|element| line("a.mtx", array, element));
    assert_eq!(lines, [Some(3), Some(5), Some(4), Some(5)]);
    assert_eq!(line("a.tns", "# no\n1 1\n\n2 1\n", 1), Some(4));
}

#[test]
fn what_follows_a_gzip_stream_is_gzip() {
    let member = |text: &[u8]| {
        use std::io::Write as _;
        let mut encoder = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::default());
        encoder.write_all(text).unwrap();
        encoder.finish().unwrap()
    };
    let two = [member(b"1 1\n"), member(b"2 1\n")].concat();
    assert_eq!(decompress(&two).unwrap(), b"1 1\n2 1\n");
    let error = decompress(&[two.clone(), b"more".to_vec()].concat()).unwrap_err();
    assert!(error.reason.contains("not gzip (4 bytes)"), "{error}");
    assert!(decompress(&two[..two.len() - 3]).is_err());
}

#[test]
fn symmetries_are_expanded() {
    let text = b"%%MatrixMarket matrix coordinate real skew-symmetric\n3 3 1\n2 1 5\n";
    let skew = parse(FileKind::MatrixMarket, text).unwrap();
    assert!(element(&skew, &[0, 1]) == -5.0 && element(&skew, &[1, 0]) == 5.0);
    let text = b"%%MatrixMarket matrix array real general\n2 2\n1\n2\n3\n4\n";
    let array = parse(FileKind::MatrixMarket, text).unwrap();
    assert!(element(&array, &[1, 0]) == 2.0);
}

fn formats(order: usize) -> Vec<TensorFormat> {
    let mut all = Vec::new();
    let kinds = [Level::DENSE, Level::COMPRESSED];
    for mask in 0..1usize << order {
        let levels: Vec<Level> = (0..order).map(|l| kinds[mask >> l & 1]).collect();
        for reverse in [false, true] {
            let mut modes: Vec<usize> = (0..order).collect();
            if reverse {
                modes.reverse();
            }
            for index_bits in [32, 64] {
                all.push(TensorFormat {
                    index_bits,
                    ..TensorFormat::whole(levels.clone(), modes.clone())
                });
            }
        }
    }
    let mut coo = vec![Level::SINGLETON.nonunique(); order];
    coo[0] = Level::COMPRESSED.nonunique();
    coo[order - 1].unique = true;
    all.push(TensorFormat::whole(coo, (0..order).collect()));
    // Blocks of 2 coordinates and of 3, the places of the last mode outermost.
    for kinds in [
        [Level::DENSE, Level::COMPRESSED],
        [Level::COMPRESSED, Level::BITMAP],
    ] {
        let sizes: Vec<u32> = (0..order)
            .map(|mode| 2 + u32::from(mode % 2 == 1))
            .collect();
        let levels = [vec![kinds[0]; order], vec![kinds[1]; order]].concat();
        let modes = (0..order).chain((0..order).rev()).collect();
        let blocks = sizes.iter().map(|&n| Part::Block(n));
        let places = sizes.iter().rev().map(|&n| Part::Within(n));
        all.push(TensorFormat {
            parts: blocks.chain(places).collect(),
            ..TensorFormat::whole(levels, modes)
        });
    }
    // Slots outside, and those of each row; of rows by blocks.
    for (at, slots) in [(0, Level::DENSE), (order - 1, Level::COMPRESSED)] {
        let mut slotted = TensorFormat::whole(vec![Level::DENSE; order], (0..order).collect());
        slotted.levels[order - 1] = Level::SINGLETON;
        if order > 1 {
            slotted.parts[0] = Part::Block(2);
            slotted.levels.insert(order - 1, Level::DENSE);
            slotted.modes.insert(order - 1, 0);
            slotted.parts.insert(order - 1, Part::Within(2));
        }
        slotted.levels.insert(at, slots);
        slotted.modes.insert(at, order - 1);
        slotted.parts.insert(at, Part::Slot);
        all.push(slotted);
    }
    // Diagonals of the last two modes.
    if order > 1 {
        for kind in [Level::COMPRESSED, Level::DENSE] {
            let mut levels = vec![Level::DENSE; order];
            levels[order - 2] = kind;
            let mut modes: Vec<usize> = (0..order).collect();
            modes.swap(order - 2, order - 1);
            let mut format = TensorFormat::whole(levels, modes);
            format.parts[order - 2] = Part::Diagonal(order - 2);
            all.push(format);
        }
    }
    all
}

#[test]
fn unpacking_gives_back_what_was_packed() {
    for (seed, dims) in [
        (1, vec![5, 7]),
        (2, vec![3, 4, 2]),
        (3, vec![0, 4]),
        (4, vec![6]),
    ] {
        let tensor = random(seed, 0.3, &dims, ScalarType::F64);
        let want = write::densify(&tensor, Literal::ZERO).unwrap();
        let whole = Tensor::Dense(want.clone());
        let given = formats(dims.len())
            .into_iter()
            .flat_map(|format| [(format.clone(), &tensor), (format, &whole)]);
        for (format, tensor) in given {
            let packed = pack(tensor, ScalarType::F64, (&dims, 0), &format, Literal::ZERO).unwrap();
            assert_eq!(validate(&packed), Ok(()), "{format:?}");
            let got = write::densify(&unpack(&packed), Literal::ZERO).unwrap();
            assert_eq!(got, want, "{format:?}");
        }
    }
}

#[test]
fn duplicates_are_summed() {
    let coo = parse(FileKind::Frostt, b"1 1 2\n2 2 1\n1 1 3\n").unwrap();
    for format in formats(2) {
        let packed = pack(&coo, ScalarType::F64, (&[2, 2], 0), &format, Literal::ZERO).unwrap();
        assert!(element(&unpack(&packed), &[0, 0]) == 5.0, "{format:?}");
    }
}

#[test]
fn floating_point_numbers_have_17_digits() {
    for ty in [ScalarType::BF16, ScalarType::F32, ScalarType::F64] {
        let tensor = constant(Number::Real(0.1), &[1], ty).unwrap();
        let text = content(Path::new("x.tns"), &tensor, Literal::ZERO).unwrap();
        let digits = text.iter().filter(|b| b.is_ascii_digit()).count();
        assert_eq!(digits, 1 + 17 + 1, "{}", String::from_utf8_lossy(&text));
    }
}

#[test]
fn files_are_read_back_as_written() {
    let folder = tempfile::tempdir().unwrap();
    let sparse = random(1, 0.4, &[4, 5], ScalarType::F64);
    let dense = random(2, 1.0, &[3, 2], ScalarType::F64);
    let wide = constant(Number::Int(u64::MAX.into()), &[3, 2], ScalarType::U64).unwrap();
    for (name, tensor) in [
        ("a.mtx", &sparse),
        ("a.mtx.gz", &sparse),
        ("b.mtx", &dense),
        ("b.npy", &dense),
        ("c.mtx", &wide),
        ("c.npy", &wide),
    ] {
        let path = folder.path().join(name);
        std::fs::write(&path, content(&path, tensor, Literal::ZERO).unwrap()).unwrap();
        assert_eq!(&read(&path).unwrap(), tensor, "{name}");
    }
}

#[test]
fn only_arrays_have_as_many_elements_as_places() {
    let text = |format: &str, symmetry: &str| {
        format!(
            "%%MatrixMarket matrix {format} real {symmetry}\n4294967296 4294967296 1\n4294967296 3 2\n"
        )
    };
    for symmetry in ["general", "symmetric"] {
        let text = text("coordinate", symmetry);
        let Ok(Tensor::Sparse(coo)) = parse(FileKind::MatrixMarket, text.as_bytes()) else {
            panic!("{symmetry}")
        };
        assert_eq!(coo.dims, [1 << 32; 2]);
        assert_eq!((coo.coords[0][0], coo.coords[1][0]), ((1 << 32) - 1, 2));
    }
    let array = parse(FileKind::MatrixMarket, text("array", "general").as_bytes()).unwrap_err();
    assert_eq!(array.line, Some(2), "{array}");
}
