import Glibc

/// Checks a store's file before SQLite opens it, and creates, renames and removes its files.
enum StoreFile {
    /// Returns the absolute path with symbolic links resolved, so that two names of one store share one lock. SQLite
    /// never treats an absolute path as a URI.
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
            throw .cannotOpen(path: path, reason: "there is no directory \(directory): create it first")
        }
        return base == "/" ? "/\(name)" : "\(base)/\(name)"
    }

    private static func realPath(_ path: String) -> String? {
        guard let resolved = realpath(path, nil) else { return nil }
        defer { free(resolved) }
        return String(cString: resolved)
    }

    /// The kind of file at a path.
    enum Kind: Equatable {
        case missing
        /// `isCopy`: the file is not in WAL mode yet, as a new store, a copy or a backup that has never been served.
        case store(isCopy: Bool)
        /// The first page is invalid, but there is a log that may have a valid one.
        case doubtful
    }

    /// Refuses a path that cannot be opened as a store, whatever the content of the file. Changes nothing.
    static func checkKind(_ path: String) throws(StoreError) {
        var status = stat()
        guard stat(path, &status) == 0 else {
            guard errno == ENOENT else {
                throw .cannotOpen(path: path, reason: String(cString: strerror(errno)))
            }
            guard lstat(path, &status) != 0 else {
                throw .cannotOpen(path: path, reason: "it is a symbolic link to a file that does not exist")
            }
            return
        }
        guard status.st_mode & S_IFMT == S_IFREG else {
            throw .cannotOpen(path: path, reason: "it is not a regular file")
        }
        guard status.st_nlink == 1 else {
            throw .cannotOpen(
                path: path,
                reason: "the file has a second name (a hard link), through which it could be opened twice"
            )
        }
        for needed in [path] + [path + "-wal"].filter({ Self.size($0) != nil }) {
            guard access(needed, R_OK | W_OK) == 0 else {
                throw .cannotOpen(path: path, reason: "\(needed): \(String(cString: strerror(errno)))")
            }
        }
    }

    /// Returns the kind of file at a path. Refuses a file that is not a store of nest, and does not change it. Call it
    /// while you hold the lock.
    static func check(_ path: String) throws(StoreError) -> Kind {
        try self.checkKind(path)
        let log = [path + "-wal", path + "-journal"].first { (Self.size($0) ?? 0) > 0 }
        guard let size = Self.size(path) else {
            if let log {
                throw .strayLog(
                    log: log,
                    reason:
                        "exists, but its store does not: restore the store, or move the log away to create a new store"
                )
            }
            return .missing
        }
        guard size > 0 else {
            throw .notAStore(path: path, reason: "the file is empty; remove it to create a new store")
        }
        let descriptor = open(path, O_RDONLY | O_CLOEXEC)
        guard descriptor >= 0 else { throw .cannotOpen(path: path, reason: String(cString: strerror(errno))) }
        defer { close(descriptor) }
        var header = [UInt8](repeating: 0, count: 100)
        let count = pread(descriptor, &header, header.count, 0)
        guard count >= 0 else { throw .io(operation: "reading \(path)", errno: errno) }
        guard count >= 16, header.starts(with: Array("SQLite format 3".utf8) + [0]) else {
            // A power loss may have interrupted the write of this page.
            if count == header.count, Self.isLog(path + "-wal") { return .doubtful }
            throw .notAStore(path: path, reason: "it is not an SQLite file")
        }
        guard count == header.count else {
            throw .corrupt(path: path, reason: "it ends within its first \(header.count) bytes")
        }
        // https://sqlite.org/fileformat.html, 1.3: the write version, the application id, and below the user version.
        let hasLog = header[18] == 2
        let application = header[68..<72].reduce(Int64(0)) { $0 << 8 | Int64($1) }
        // A store of an older nestd may have its application id only in the log.
        guard application == Schema.applicationID || application == 0 && hasLog && log != nil else {
            throw .notAStore(
                path: path,
                reason: "it is an SQLite file of another program, or an empty database"
            )
        }
        if application == Schema.applicationID {
            try Schema.checkVersion(header[60..<64].reduce(Int64(0)) { $0 << 8 | Int64($1) }, path: path)
        }
        if !hasLog, let log, log.hasSuffix("-wal") {
            throw .strayLog(
                log: log,
                reason: "was not written for \(path), which is a copy or a backup: move the log away"
            )
        }
        return .store(isCopy: !hasLog)
    }

    /// Whether a file begins like a write-ahead log. https://sqlite.org/fileformat.html, 4.1.
    private static func isLog(_ path: String) -> Bool {
        let descriptor = open(path, O_RDONLY | O_CLOEXEC)
        guard descriptor >= 0 else { return false }
        defer { close(descriptor) }
        var magic = [UInt8](repeating: 0, count: 4)
        return pread(descriptor, &magic, 4, 0) == 4 && magic.starts(with: [0x37, 0x7f, 0x06]) && magic[3] | 1 == 0x83
    }

    static func exists(_ path: String) -> Bool { self.size(path) != nil }

    static func removeEmptyLog(_ path: String) {
        guard self.size(path + "-wal") == 0 else { return }
        for suffix in ["-wal", "-shm"] { unlink(path + suffix) }
    }

    private static func size(_ path: String) -> Int? {
        var status = stat()
        return stat(path, &status) == 0 ? Int(status.st_size) : nil
    }

    // MARK: Owners

    /// Files that root creates get the directory's owner: the service, which is not root, must be able to open them.
    static func handOver(_ path: String) {
        var status = stat()
        guard geteuid() == 0, stat(Store.directory(of: path), &status) == 0, status.st_uid != 0 || status.st_gid != 0
        else { return }
        // For root this fails only on file systems without owners.
        _ = lchown(path, status.st_uid, status.st_gid)
    }

    // MARK: Durable files

    /// Gives a complete file its final name, durably. Replaces a file that had the name.
    static func publish(_ partial: String, as path: String) throws(StoreError) {
        try self.synchronize(partial)
        guard rename(partial, path) == 0 else { throw .io(operation: "renaming a file to \(path)", errno: errno) }
        try self.synchronize(Store.directory(of: path))
    }

    static func synchronize(_ path: String) throws(StoreError) {
        let descriptor = open(path, O_RDONLY | O_CLOEXEC)
        guard descriptor >= 0 else { throw .io(operation: "opening \(path)", errno: errno) }
        defer { close(descriptor) }
        guard fsync(descriptor) == 0 else { throw .io(operation: "fsync of \(path)", errno: errno) }
    }

    /// Removes a file that SQLite was writing, and the journals that SQLite may have left next to it.
    static func removePartial(_ path: String) {
        for suffix in ["", "-journal", "-wal", "-shm"] { unlink(path + suffix) }
    }

    /// Creates a private directory for a store that lives only as long as the process.
    static func makeVolatileDirectory() throws(StoreError) -> String {
        for parent in ["/dev/shm", "/tmp"] {
            var template = Array((parent + "/nestd-XXXXXX").utf8CString)
            if mkdtemp(&template) != nil {
                return String(decoding: template.dropLast().map { UInt8(bitPattern: $0) }, as: UTF8.self)
            }
        }
        throw .io(operation: "making a directory for a store in memory", errno: errno)
    }

    /// Removes the store in a directory that `makeVolatileDirectory` created, and the directory.
    static func removeVolatileDirectory(_ directory: String, store: String) {
        for suffix in ["", "-wal", "-shm", ".lock"] { unlink(store + suffix) }
        rmdir(directory)
    }
}
