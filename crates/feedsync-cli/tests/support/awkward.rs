//! Feeds that are hard to show: those of the corpora, and attacks.

use std::path::{Path, PathBuf};

/// Maximum number of feeds from the corpora.
const MAX_FEEDS: usize = 300;

/// A feed of a corpus.
pub(crate) struct Awkward {
    pub(crate) path: PathBuf,
}

impl Awkward {
    /// Whether the feed appears to contain entries.
    pub(crate) fn has_entries(&self) -> bool {
        let bytes = std::fs::read(&self.path).unwrap();
        let text = String::from_utf8_lossy(&bytes);
        // Atom has no `item` elements.
        let tags = match text.contains("<feed") {
            true => ["<entry>", "<entry ", "<entry\n"],
            false => ["<item>", "<item ", "\"items\": [{"],
        };
        tags.iter().any(|tag| text.contains(tag))
    }
}

/// Selects feeds from all corpora in the directory that `FEEDSYNC_CORPORA` names: feeds with entries, and
/// ill-formed ones. One in three without `FEEDSYNC_LONG`, none if `FEEDSYNC_CORPORA` is not set.
pub(crate) fn corpora() -> Vec<Awkward> {
    let Some(corpora) = std::env::var_os("FEEDSYNC_CORPORA") else {
        eprintln!("FEEDSYNC_CORPORA is not set: attacks alone");
        return Vec::new();
    };
    let corpora = PathBuf::from(corpora);
    let mut chosen = Vec::new();
    let names = [
        ("feedparser-illformed", MAX_FEEDS),
        ("real-feeds", 60),
        ("feedparser-wellformed", 90),
        ("feedvalidator", 70),
        ("feed-rs-fixtures", 60),
        ("gofeed-testdata", 50),
    ];
    for (name, most) in names {
        let mut files = Vec::new();
        visit(&corpora.join(name), &mut files);
        files.sort();
        let feeds = files.into_iter().map(|path| Awkward { path });
        let feeds = feeds.filter(|feed| name.ends_with("illformed") || feed.has_entries());
        let feeds: Vec<_> = feeds.collect();
        let step = feeds.len().div_ceil(most).max(1);
        chosen.extend(feeds.into_iter().step_by(step));
    }
    chosen.truncate(MAX_FEEDS);
    let step = if std::env::var_os("FEEDSYNC_LONG").is_some() { 1 } else { 3 };
    chosen.into_iter().step_by(step).collect()
}

fn visit(directory: &Path, files: &mut Vec<PathBuf>) {
    for entry in std::fs::read_dir(directory).into_iter().flatten().flatten() {
        let path = entry.path();
        let suffix = path.extension().and_then(|suffix| suffix.to_str()).unwrap_or_default();
        if path.is_dir() {
            visit(&path, files);
        } else if ["xml", "rss", "atom", "rdf", "json"].contains(&suffix) {
            files.push(path);
        }
    }
}

/// Contents that would set `window.executed`, send a request to a canary, or cover or leave the page.
pub(crate) const ATTACKS: [&str; 36] = [
    "<script>window.executed=1</script><script src=//canary.example/executed.js></script>",
    "<img src=//canary.example/picture.png onload=window.executed=2><img src=x onerror=window.executed=3>",
    "<svg onload=window.executed=4><script>window.executed=5</script></svg>",
    "<svg><image href=//canary.example/svg xlink:href=//canary.example/svg></image><use href=//canary.example/u#a></use></svg>",
    "<svg><animate onbegin=window.executed=6 attributeName=x dur=1s></animate><set onend=window.executed=7></set></svg>",
    "<math><mtext><table><mglyph><style><!--</style><img title='--><img src=1 onerror=window.executed=8>'>",
    "<math><annotation-xml encoding=text/html><script>window.executed=9</script></annotation-xml></math>",
    "<iframe srcdoc='<script>parent.executed=10</script>'></iframe><iframe src=//canary.example/frame></iframe>",
    "<object data=//canary.example/object></object><embed src=//canary.example/embed><applet code=x></applet>",
    "<meta http-equiv=refresh content='0;url=//canary.example/refresh'>",
    "<base href=//canary.example/><a href=base>base</a><script src=based.js></script>",
    "<link rel=stylesheet href=//canary.example/style><link rel=prefetch href=//canary.example/prefetch>",
    "<style>@import '//canary.example/import';body{display:none}</style><p>styled</p>",
    "<div style='position:fixed;inset:0;z-index:99;background:url(//canary.example/background)'>over all</div>",
    "<form id=f action=//canary.example/form><button autofocus>Go</button></form><script>f.submit()</script>",
    "<input autofocus onfocus=window.executed=11><select autofocus onfocus=window.executed=12></select>",
    "<details open ontoggle=window.executed=13><summary>x</summary></details><marquee onstart=window.executed=14>x</marquee>",
    "<video autoplay src=//canary.example/video onerror=window.executed=15 poster=//canary.example/poster></video>",
    "<audio autoplay src=//canary.example/audio onloadstart=window.executed=16></audio>",
    "<a href='javascript:window.executed=17' accesskey=n>x</a><a href='jav&#x09;ascript:window.executed=18'>y</a>",
    "<a href='data:text/html,<script>opener.executed=19</script>'>x</a><img src='data:image/svg+xml,<svg onload=alert(1)>'>",
    "<noscript><p title='</noscript><img src=x onerror=window.executed=20>'></noscript>",
    "<template><script>window.executed=21</script></template><xmp><script>window.executed=22</script></xmp>",
    "<div id=said>clobbered</div><div id=keys data-article data-opens>x</div><form name=body><input name=action></form>",
    "<img name=querySelector><img name=getElementById><a id=location name=cookie href=x>x</a><a id=choice>x</a>",
    "<p class=top id=main data-mark=read style=float:left>clobbered</p><button data-mark=star>x</button>",
    "<table background=//canary.example/table><td background=//canary.example/cell>x</td></table>",
    "<picture><source srcset='//canary.example/srcset 2x'><img srcset='//canary.example/set 1x' src=//canary.example/picture2></picture>",
    "<a href=//canary.example/ping ping=//canary.example/pinged>x</a><blockquote cite=//canary.example/cite>x</blockquote>",
    "]]><!--><script>window.executed=23</script>--><![CDATA[<script>window.executed=24</script>]]>",
    "</div></article></main><main id=main><h1>another page</h1><script>window.executed=25</script>",
    "<title>stolen</title></title></textarea></style></script><script>window.executed=26</script>",
    "<plaintext><script>window.executed=27</script>",
    "<pre>wwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwww</pre>\
     <table><tr><td>wwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwww</td><td>wwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwww</td></tr></table>",
    "<img src=//canary.example/picture3.png width=99999 height=99999 alt=wide><p>\u{202e}turned round\u{2066}</p>",
    "<x-y is=a onclick=window.executed=28><slot name=x></slot><portal src=//canary.example/portal></portal><dialog open>x</dialog>",
];

/// A feed in which everything is an attack.
pub(crate) fn attack_feed() -> String {
    let escaped = |text: &str| {
        text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;").replace('"', "&quot;")
    };
    let script = escaped(
        "<script>window.executed='text'</script>\"'><img src=x onerror=window.executed='text'>",
    );
    let item = |(number, attack): (usize, &&str)| {
        format!(
            "<item><title>attack {number} {script}</title><guid isPermaLink=\"false\">a{number}{script}</guid>\
             <link>javascript:window.executed='link'</link><dc:creator>{script}</dc:creator>\
             <category>{script}</category><comments>javascript:window.executed=1</comments>\
             <enclosure url=\"javascript:window.executed='media'\" length=\"1\" type=\"audio/mpeg\"/>\
             <enclosure url=\"https://canary.example/media.mp3\" length=\"1\" type=\"audio/mpeg{script}\"/>\
             <enclosure url=\"https://canary.example/media.svg\" length=\"1\" type=\"image/svg+xml\"/>\
             <content:encoded>{}</content:encoded></item>",
            escaped(attack)
        )
    };
    let items: String = ATTACKS.iter().enumerate().map(item).collect();
    format!(
        "<rss version=\"2.0\" xmlns:dc=\"http://purl.org/dc/elements/1.1/\" \
         xmlns:content=\"http://purl.org/rss/1.0/modules/content/\"><channel><title>{script}</title>\
         <link>javascript:window.executed='site'</link><description>{script}</description>{items}</channel></rss>"
    )
}
