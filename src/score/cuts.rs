//! For the tests: all that a reducer may cut from a text, as edits.

use crate::source::edit::Edit;
use syn::spanned::Spanned;
use syn::visit::Visit;

/// Every cut that leaves a text that parses: items, statements, arms, fields, variants, derives, `use` leaves,
/// bodies of `if`, `else` branches.
pub(super) fn cuts(text: &str) -> Vec<Edit> {
    let file = syn::parse_file(text).expect("Rust");
    let mut cuts = Cuts(Vec::new());
    cuts.visit_file(&file);
    cuts.0
}

struct Cuts(Vec<Edit>);

impl Cuts {
    fn delete(&mut self, node: &impl Spanned) {
        self.0.push(Edit::delete(node.span().byte_range()));
    }

    fn delete_with<T: Spanned>(&mut self, node: T, comma: Option<&syn::Token![,]>) {
        let mut range = node.span().byte_range();
        if let Some(comma) = comma {
            range.end = comma.span().byte_range().end;
        }
        self.0.push(Edit::delete(range));
    }

    /// Deletes members of a list. The last without a comma is left: the member before it has one, and it may stay.
    fn delete_members<T: quote::ToTokens>(&mut self, list: &syn::punctuated::Punctuated<T, syn::Token![,]>) {
        for pair in list.pairs() {
            self.delete_with(pair.value(), pair.punct().copied());
        }
    }

    fn empty(&mut self, block: &syn::Block) {
        let span = block.brace_token.span;
        self.0.push(Edit::delete(span.open().byte_range().end..span.close().byte_range().start));
    }
}

impl<'ast> Visit<'ast> for Cuts {
    fn visit_item(&mut self, node: &'ast syn::Item) {
        self.delete(node);
        syn::visit::visit_item(self, node);
    }

    fn visit_impl_item(&mut self, node: &'ast syn::ImplItem) {
        self.delete(node);
        syn::visit::visit_impl_item(self, node);
    }

    fn visit_trait_item(&mut self, node: &'ast syn::TraitItem) {
        self.delete(node);
        syn::visit::visit_trait_item(self, node);
    }

    fn visit_stmt(&mut self, node: &'ast syn::Stmt) {
        self.delete(node);
        syn::visit::visit_stmt(self, node);
    }

    fn visit_arm(&mut self, node: &'ast syn::Arm) {
        self.delete(node);
        syn::visit::visit_arm(self, node);
    }

    fn visit_fields_named(&mut self, node: &'ast syn::FieldsNamed) {
        self.delete_members(&node.named);
        syn::visit::visit_fields_named(self, node);
    }

    fn visit_item_enum(&mut self, node: &'ast syn::ItemEnum) {
        self.delete_members(&node.variants);
        syn::visit::visit_item_enum(self, node);
    }

    fn visit_expr_struct(&mut self, node: &'ast syn::ExprStruct) {
        self.delete_members(&node.fields);
        syn::visit::visit_expr_struct(self, node);
    }

    fn visit_pat_struct(&mut self, node: &'ast syn::PatStruct) {
        self.delete_members(&node.fields);
        syn::visit::visit_pat_struct(self, node);
    }

    fn visit_use_group(&mut self, node: &'ast syn::UseGroup) {
        self.delete_members(&node.items);
        syn::visit::visit_use_group(self, node);
    }

    fn visit_expr_if(&mut self, node: &'ast syn::ExprIf) {
        if let Some((token, branch)) = &node.else_branch {
            self.0.push(Edit::delete(token.span().byte_range().start..branch.span().byte_range().end));
        }
        self.empty(&node.then_branch);
        syn::visit::visit_expr_if(self, node);
    }

    fn visit_attribute(&mut self, node: &'ast syn::Attribute) {
        if let (true, syn::Meta::List(list)) = (node.path().is_ident("derive"), &node.meta) {
            let paths = list.parse_args_with(syn::punctuated::Punctuated::<syn::Path, syn::Token![,]>::parse_terminated);
            if let Ok(paths) = paths {
                self.delete_members(&paths);
            }
        }
    }
}
