//! Tests of the program without a network, with one file for each area.

#[path = "../support/mod.rs"]
mod support;

mod advice;
mod backups;
mod collections;
mod conflicts;
mod database_history;
mod details;
mod doctor;
mod documents;
mod feeds;
mod file;
mod file_writing;
mod full_disk;
mod gateway;
mod interrupted;
mod items;
mod json;
mod logins;
mod logs;
mod moves;
mod output;
mod people;
mod portal;
mod reader;
mod renamed;
mod settings;
mod subscriptions;
