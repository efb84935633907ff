import Glibc

/// Which file a name or a descriptor stands for, however it was reached.
struct FileIdentity: Equatable, Sendable {
    private let device: UInt64
    private let number: UInt64

    init(_ status: stat) {
        self.device = UInt64(status.st_dev)
        self.number = UInt64(status.st_ino)
    }

    /// Follows symbolic links. Returns `nil` if there is no such file.
    init?(path: String) {
        var status = stat()
        guard stat(path, &status) == 0 else { return nil }
        self.init(status)
    }
}

/// A file that clients of the web port must never get, such as the store, and the files beside it that belong to it.
///
/// It may be a symbolic link, and its target may change while the server runs: everything is looked up each time, and
/// blocks.
struct HiddenFile: Sendable {
    let path: String

    var identity: FileIdentity? { FileIdentity(path: self.path) }

    /// Whether `name` in a directory is the file or belongs to it: its name is that of the file, maybe with `-…` or
    /// `.…` after it. Companions are beside the path as it was given, or beside the target of the link.
    func owns(_ name: String, in directory: FileIdentity) -> Bool {
        if Self.owns(name, in: directory, self.path) { return true }
        guard let resolved = realpath(self.path, nil) else { return false }
        defer { free(resolved) }
        return Self.owns(name, in: directory, String(cString: resolved))
    }

    private static func owns(_ name: String, in directory: FileIdentity, _ path: String) -> Bool {
        let slash = path.utf8.lastIndex(of: 0x2f)
        let own = Array(slash.map { path.utf8[path.utf8.index(after: $0)...] } ?? path.utf8[...])
        let bytes = Array(name.utf8)
        guard bytes.starts(with: own), bytes.count == own.count || [0x2d, 0x2e].contains(bytes[own.count]) else {
            return false
        }
        let parent = slash.map { $0 == path.utf8.startIndex ? "/" : String(path[..<$0]) } ?? "."
        return FileIdentity(path: parent) == directory
    }
}
