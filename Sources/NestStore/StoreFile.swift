import Glibc

/// What can be learnt of a store's file before SQLite opens it.
enum StoreFile {
    /// The absolute path with symbolic links resolved, so that two names of one store share one lock. An absolute path is
    /// also never taken for a URI.
    static func resolve(_ path: String) throws(StoreError) -> String {
        guard !path.isEmpty, !path.utf8.contains(0) else { throw .cannotOpen(path: path, reason: "not a file name") }
        if let existing = realPath(path) { return existing }
        var directory = "."
        var name = path[...]
        if let slash = path.lastIndex(of: "/") {
            directory = slash == path.startIndex ? "/" : String(path[..<slash])
            name = path[path.index(after: slash)...]
        }
        guard !name.isEmpty else { throw .cannotOpen(path: path, reason: "it is a directory") }
        guard let base = Self.realPath(directory) else {
            throw .cannotOpen(path: path, reason: "there is no directory \(directory): make it first")
        }
        return base == "/" ? "/\(name)" : "\(base)/\(name)"
    }

    private static func realPath(_ path: String) -> String? {
        guard let resolved = realpath(path, nil) else { return nil }
        defer { free(resolved) }
        return String(cString: resolved)
    }

    /// Whether the file is there; refuses what cannot be a store.
    static func check(_ path: String) throws(StoreError) -> Bool {
        var status = stat()
        guard stat(path, &status) == 0 else {
            if errno == ENOENT { return false }
            throw .cannotOpen(path: path, reason: String(cString: strerror(errno)))
        }
        guard status.st_mode & S_IFMT == S_IFREG else {
            throw .cannotOpen(path: path, reason: "it is not a regular file")
        }
        guard status.st_nlink == 1 else {
            throw .cannotOpen(
                path: path,
                reason: "the file has another name (a hard link), under which it could be opened twice"
            )
        }
        guard status.st_size > 0 else {
            throw .notAStore(path: path, reason: "the file is empty; remove it if a new store is wanted")
        }
        let descriptor = open(path, O_RDONLY | O_CLOEXEC)
        guard descriptor >= 0 else { throw .cannotOpen(path: path, reason: String(cString: strerror(errno))) }
        defer { close(descriptor) }
        var bytes = [UInt8](repeating: 0, count: 16)
        guard pread(descriptor, &bytes, 16, 0) == 16, bytes == Array("SQLite format 3".utf8) + [0] else {
            throw .notAStore(path: path, reason: "it is not an SQLite file")
        }
        return true
    }

    /// A private directory for a store that lives only as long as the process.
    static func makeVolatileDirectory() throws(StoreError) -> String {
        for parent in ["/dev/shm", "/tmp"] {
            var template = Array((parent + "/nestd-XXXXXX").utf8CString)
            if mkdtemp(&template) != nil {
                return String(decoding: template.dropLast().map { UInt8(bitPattern: $0) }, as: UTF8.self)
            }
        }
        throw .io(operation: "making a directory for a store in memory", errno: errno)
    }

    /// Removes a store that `makeVolatileDirectory` held.
    static func removeVolatileDirectory(_ directory: String, store: String) {
        for suffix in ["", "-wal", "-shm", ".lock"] { unlink(store + suffix) }
        rmdir(directory)
    }
}
