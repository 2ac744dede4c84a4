//! The order `graphene`.
