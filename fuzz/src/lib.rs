//! What the fuzz targets share: each function stops with a panic where a promise breaks.

use sparsec::data::{self, FileKind, Tensor};
use sparsec::diagnostic::{Diagnostic, FileId, Sources, codes, render};
use sparsec::driver::{self, Failure, Request, Source};
use sparsec::emit::{Unit, c};
use sparsec::format::{Level, TensorFormat};
use sparsec::scalar::{Literal, ScalarType};
use sparsec::syntax;
use std::fmt::Debug;

/// Compiles to C text. Every refusal must have a place and a code of the catalogue.
pub fn compile(source: Source) {
    let mut sources = Sources::default();
    match driver::compile(&Request::new(source), &mut sources) {
        Ok(compiled) => {
            for remark in &compiled.remarks {
                let _ = render::text(remark, &sources, false);
            }
            let unit = Unit {
                name: "fuzzed".to_string(),
                kernels: compiled.kernels,
            };
            let _ = c::emit(&unit);
        }
        Err(Failure::Program(diagnostics)) => refused(&diagnostics, &sources),
        Err(other) => panic!("a program fails as something else: {other:?}"),
    }
}

fn refused(diagnostics: &[Diagnostic], sources: &Sources) {
    assert!(!diagnostics.is_empty(), "refused without a reason");
    for diagnostic in diagnostics {
        assert!(!diagnostic.labels.is_empty(), "no place: {diagnostic:?}");
        assert!(codes::find(diagnostic.code.id).is_some(), "{diagnostic:?}");
        let shown = render::text(diagnostic, sources, false);
        assert!(shown.contains("-->"), "{shown}");
        let _ = render::json(diagnostic, sources);
    }
}

/// Formats as a program and as a schedule: the tree stays, and the layout settles.
pub fn format(text: &str) {
    let file = FileId(0);
    if let Ok(once) = syntax::format::format_source(file, text) {
        let again = syntax::format::format_source(file, &once);
        assert_eq!(again.as_deref(), Ok(once.as_str()), "does not settle");
        assert_eq!(
            shape(&syntax::parse(file, text)),
            shape(&syntax::parse(file, &once))
        );
    }
    if let Ok(once) = syntax::format::format_schedule(file, text) {
        let again = syntax::format::format_schedule(file, &once);
        assert_eq!(again.as_deref(), Ok(once.as_str()), "does not settle");
        assert_eq!(
            shape(&syntax::parse_schedule(file, text)),
            shape(&syntax::parse_schedule(file, &once))
        );
    }
}

/// A tree without its places.
fn shape(tree: &impl Debug) -> String {
    let text = format!("{tree:?}");
    let mut out = String::with_capacity(text.len());
    let mut rest = text.as_str();
    while let Some(at) = rest.find("Span {") {
        out.push_str(&rest[..at]);
        let end = rest[at..].find('}').map_or(rest.len(), |n| at + n + 1);
        rest = &rest[end..];
    }
    out + rest
}

/// Reads a file's content, then packs what it holds into sparse levels and back.
pub fn read(kind: FileKind, bytes: &[u8]) {
    let Ok(tensor) = data::parse(kind, bytes) else {
        return;
    };
    let _ = data::summarize(&tensor);
    let (dims, ty) = match &tensor {
        Tensor::Sparse(coo) => {
            assert_eq!(coo.coords.len(), coo.dims.len());
            for (column, extent) in coo.coords.iter().zip(&coo.dims) {
                assert_eq!(column.len(), coo.values.len());
                assert!(column.iter().all(|c| c < extent), "outside its extents");
            }
            (&coo.dims, coo.values.ty())
        }
        Tensor::Dense(dense) => {
            let volume: u64 = dense.dims.iter().product();
            assert_eq!(volume, dense.values.len() as u64);
            (&dense.dims, dense.values.ty())
        }
    };
    pack(&tensor, ty, dims);
}

fn pack(tensor: &Tensor, ty: ScalarType, dims: &[u64]) {
    let format = TensorFormat {
        index_bits: 64,
        ..TensorFormat::whole(vec![Level::COMPRESSED; dims.len()], (0..dims.len()).collect())
    };
    if let Ok(packed) = data::pack(tensor, ty, (dims, 0), &format, Literal::ZERO) {
        assert_eq!(data::validate(&packed), Ok(()));
        let _ = data::unpack(&packed);
    }
}
