//! Parse trees of operators of one's own into the AST.

use super::ast::{Claim, OperatorDecl};
use super::build::{Build, Builder};
use super::formats::fill_value;
use super::parse::Rule;
use crate::diagnostic::Diagnostic;
use crate::diagnostic::codes::syntax as codes;
use pest::iterators::Pair;

#[expect(clippy::wildcard_enum_match_arm, reason = "pest's generated enum")]
impl Builder {
    /// `op NAME(x, y) = expr identity v annihilator v commutes`, the claims in any order.
    pub(super) fn operator(&mut self, pair: Pair<Rule>) -> Build<OperatorDecl> {
        let all = self.span(&pair);
        let mut names = Vec::new();
        let mut body = None;
        let mut claims: Vec<(Claim, _)> = Vec::new();
        for part in pair.into_inner() {
            match part.as_rule() {
                Rule::name => names.push(self.ident(&part)),
                Rule::expr => body = Some(self.expr(part)?),
                Rule::claim => {
                    let at = self.span(&part);
                    let claim = self.claim(part)?;
                    let kind = std::mem::discriminant(&claim);
                    if let Some((_, first)) = claims
                        .iter()
                        .find(|(said, _)| std::mem::discriminant(said) == kind)
                    {
                        return Err(Diagnostic::error(
                            codes::UNEXPECTED,
                            at,
                            "this is said twice of the operator",
                            "said again here",
                        )
                        .with_label(*first, "first said here")
                        .with_help("keep one of them"));
                    }
                    claims.push((claim, at));
                }
                _ => {}
            }
        }
        let mut names = names.into_iter();
        let (Some(name), Some(left), Some(right), Some(body)) =
            (names.next(), names.next(), names.next(), body)
        else {
            return Err(self.broken(all));
        };
        Ok(OperatorDecl {
            name,
            operands: [left, right],
            body,
            claims,
            span: all,
        })
    }

    fn claim(&mut self, pair: Pair<Rule>) -> Build<Claim> {
        let all = self.span(&pair);
        let mut parts = pair.into_inner();
        let word = self.need(&mut parts, all)?.as_rule();
        if word == Rule::kw_commutes {
            return Ok(Claim::Commutes);
        }
        let value = self.need(&mut parts, all)?;
        let value = fill_value(value.as_str(), self.span(&value))?;
        Ok(if word == Rule::kw_identity {
            Claim::Identity(value)
        } else {
            Claim::Annihilator(value)
        })
    }
}
