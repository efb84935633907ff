import NIOCore

/// A page that the program has inside: its files, and the addresses that show its document.
package struct WebPage: Sendable {
    /// A file. Connections share its bytes.
    package struct File: Sendable {
        let bytes: ByteBuffer
        let type: String
        let tag: WebTag

        /// `path`: its end says which type it has. `version`: another text has another one.
        package init(path: String, version: String, text: StaticString) {
            self.bytes = ByteBuffer(staticString: text)
            self.type = WebFiles.type(of: path)
            self.tag = WebTag("\"\(version)\"")
        }
    }

    private let files: [[String]: File]
    private let index: [String]
    private let places: Set<String>

    /// `index`: the path of the document, which `/` shows, and each address that begins with one of `places`: its
    /// script reads the rest.
    package init(files: [String: File], index: String, places: [String]) {
        func names(_ path: String) -> [String] { path.split(separator: "/").map(String.init) }
        self.files = Dictionary(uniqueKeysWithValues: files.map { (names($0.key), $0.value) })
        self.index = names(index)
        self.places = Set(places)
    }

    /// Returns the path of the file that an address shows: its own, or that of the document.
    func shown(_ path: WebPath) -> WebPath {
        guard path.names.first.map({ self.places.contains($0) }) ?? true else { return path }
        return WebPath(names: self.index)
    }

    /// Returns the file that an address shows.
    func file(_ path: WebPath) -> File? {
        let shown = self.shown(path)
        return shown.isDirectory ? nil : self.files[shown.names]
    }
}
