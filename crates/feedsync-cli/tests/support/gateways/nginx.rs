//! nginx, which serves a directory and lets its files be put and deleted (WebDAV).

use std::net::TcpListener;
use std::process::{Child, Command, Stdio};

use super::application::Application;
use super::until;
use crate::support::{Place, has};

pub(crate) struct Nginx<'p> {
    place: &'p Place,
    child: Option<Child>,
    pub(crate) authority: String,
}

impl<'p> Nginx<'p> {
    /// On the files of `www`, which it makes; none where there is no nginx.
    pub(crate) fn start(place: &'p Place) -> Option<Self> {
        if !has("nginx") {
            return None;
        }
        std::fs::create_dir_all(place.path("www")).unwrap();
        // It cannot tell which port it took, so it is told one that was free.
        let free = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
        let at = place.path("").display().to_string();
        let temporary: String = ["client_body", "proxy", "fastcgi", "uwsgi", "scgi"]
            .map(|name| format!("  {name}_temp_path {at}/nginx-{name};\n"))
            .concat();
        let configuration = format!(
            "daemon off;\nmaster_process off;\npid {at}/nginx.pid;\nerror_log {at}/nginx.log;\n\
             events {{}}\nhttp {{\n{temporary}  access_log off;\n  types {{\n    \
             application/atom+xml atom;\n    \"application/atom+xml;type=entry\" entry;\n  }}\n  \
             server {{\n    listen {free};\n    root {at}/www;\n    dav_methods PUT DELETE;\n  \
             }}\n}}\n"
        );
        place.write("nginx.conf", &configuration);
        let mut nginx = Self { place, child: None, authority: free.to_string() };
        nginx.wake();
        Some(nginx)
    }

    pub(crate) fn url(&self, file: &str) -> String {
        format!("http://{}/{file}", self.authority)
    }

    /// Starts it again, and waits until it answers.
    pub(crate) fn wake(&mut self) {
        assert!(self.child.is_none());
        let child = Command::new("nginx")
            .arg("-e")
            .arg(self.place.path("nginx.log"))
            .arg("-c")
            .arg(self.place.path("nginx.conf"))
            .stdin(Stdio::null())
            .spawn();
        self.child = Some(child.unwrap());
        let url = self.url("");
        until("nginx answers", || {
            Application::direct().ask("GET", &url, &[], None).ok_or_else(|| "it does not".into())
        });
    }

    /// Ends it without a word.
    pub(crate) fn kill(&mut self) {
        let mut child = self.child.take().expect("an nginx that runs");
        child.kill().unwrap();
        child.wait().unwrap();
    }
}

impl Drop for Nginx<'_> {
    fn drop(&mut self) {
        if let Some(mut child) = self.child.take() {
            let _ = child.kill();
            let _ = child.wait();
        }
    }
}
