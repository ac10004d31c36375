//! A certificate authority of a test, made with OpenSSL.

use std::process::Command;

use super::TestDirectory;

/// Creates a certificate authority in `ca.pem`, and a certificate for `localhost` in `localhost.pem`, with its key in
/// `localhost.key`.
pub(crate) fn certify_localhost(place: &TestDirectory) {
    let key = "-newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes";
    let script = format!(
        "openssl req -x509 {key} -keyout ca.key -out ca.pem -days 2 -subj '/CN=authority of a test' \
         && openssl req {key} -keyout localhost.key -out localhost.csr -subj /CN=localhost \
         && echo subjectAltName=DNS:localhost >names \
         && openssl x509 -req -in localhost.csr -CA ca.pem -CAkey ca.key -CAcreateserial -days 2 -extfile names \
            -out localhost.pem"
    );
    let mut shell = Command::new("sh");
    let output = shell.args(["-ec", &script]).current_dir(place.path("")).output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
}
