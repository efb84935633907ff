import GRDBSQLite
import Glibc

/// A store of Core Data, opened for reading. Nothing beside it, and no byte of it, is ever written.
///
/// SQLite reads a file without a log as immutable, which needs neither locks nor other files. A file with a log is
/// copied first, because reading a log writes its index: the copies lie beside the new store, and have no names any
/// more once they are open.
final class AdoptSource {
    let path: String
    private let database: OpaquePointer
    /// The state of the files when they were opened.
    private let state: [FileState]
    private let meter = WorkMeter(nil)
    private let pendingInserts = PendingInserts()

    /// The endings of the files of one store.
    private static let endings = ["", "-wal", "-journal"]

    /// `copy`: the path of the copy of a store with a log.
    init(_ path: String, copy: String) throws {
        self.path = path
        self.state = Self.endings.map { FileState(path + $0) }
        try Self.checkKind(path)
        let hasLog = self.state.dropFirst().contains { $0.size > 0 }
        StoreFile.removePartial(copy)
        // The open copy needs no names any more.
        defer { StoreFile.removePartial(copy) }
        if hasLog { try Self.copy(path, to: copy) }
        self.database = try Self.open(hasLog ? copy : path, isCopy: hasLog, named: path)
    }

    deinit { sqlite3_close_v2(self.database) }

    private static func checkKind(_ path: String) throws {
        var status = stat()
        guard stat(path, &status) == 0 else {
            guard errno == ENOENT else { throw self.unreadable(path) }
            throw AdoptFailure(.missing, "there is no file \(path)")
        }
        guard status.st_mode & S_IFMT == S_IFREG else { throw AdoptFailure(.damaged, "\(path) is not a file") }
        guard access(path, R_OK) == 0 else { throw self.unreadable(path) }
    }

    private static func unreadable(_ path: String) -> AdoptFailure {
        AdoptFailure(.unreadable, "cannot read \(path): \(String(cString: strerror(errno)))")
    }

    /// Opens a file, and reads it once: SQLite then has its log open, and has refused what is no database.
    private static func open(_ path: String, isCopy: Bool, named name: String) throws -> OpaquePointer {
        var database: OpaquePointer?
        let flags =
            isCopy ? SQLITE_OPEN_READWRITE : SQLITE_OPEN_READONLY | SQLITE_OPEN_URI
        let code = sqlite3_open_v2(isCopy ? path : self.uri(path), &database, flags | SQLITE_OPEN_NOMUTEX, nil)
        guard code == SQLITE_OK, let database else {
            sqlite3_close_v2(database)
            throw AdoptFailure(.unreadable, "cannot read \(name): SQLite reports \(code)")
        }
        // The file may hold what tries to run code: triggers and views are not used, and functions are not allowed.
        for pragma in ["trusted_schema = OFF", "cell_size_check = ON", "mmap_size = 0", "query_only = ON"] {
            sqlite3_exec(database, "PRAGMA \(pragma)", nil, nil, nil)
        }
        sqlite3_exec(database, "PRAGMA temp_store = FILE; PRAGMA cache_size = -32768", nil, nil, nil)
        guard sqlite3_exec(database, "SELECT count(*) FROM sqlite_schema", nil, nil, nil) == SQLITE_OK else {
            let error = StoreError(database: database, code: sqlite3_errcode(database))
            sqlite3_close_v2(database)
            throw SourceRows.failure(error, name)
        }
        return database
    }

    /// Returns the name of a file that nothing changes, for SQLite.
    private static func uri(_ path: String) -> String {
        let digits = Array("0123456789abcdef".utf8)
        var text: [UInt8] = []
        for byte in path.utf8 {
            let isPlain = byte < 128 && byte > 32 && !"%?#".utf8.contains(byte)
            text += isPlain ? [byte] : [UInt8(ascii: "%"), digits[Int(byte >> 4)], digits[Int(byte & 15)]]
        }
        let absolute = path.hasPrefix("/") ? "//" : ""
        return "file:\(absolute)\(String(decoding: text, as: UTF8.self))?immutable=1"
    }

    // MARK: Copies

    private static func copy(_ path: String, to copy: String) throws {
        for ending in self.endings {
            let source = Glibc.open(path + ending, O_RDONLY | O_CLOEXEC)
            guard source >= 0 else {
                if errno == ENOENT, !ending.isEmpty { continue }
                throw self.unreadable(path + ending)
            }
            defer { close(source) }
            let target = Glibc.open(copy + ending, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0o600)
            guard target >= 0 else { throw StoreError.io(operation: "making \(copy)\(ending)", errno: errno) }
            defer { close(target) }
            try self.copy(source, to: target, path + ending)
        }
    }

    private static func copy(_ source: Int32, to target: Int32, _ path: String) throws {
        var bytes = [UInt8](repeating: 0, count: 1 << 20)
        while true {
            let count = read(source, &bytes, bytes.count)
            if count == 0 { return }
            guard count > 0 else { throw self.unreadable(path) }
            var written = 0
            while written < count {
                let more = bytes.withUnsafeBytes { write(target, $0.baseAddress! + written, count - written) }
                guard more > 0 else { throw StoreError.io(operation: "copying \(path)", errno: errno) }
                written += more
            }
        }
    }

    // MARK: Reading

    /// Throws if another program has changed the files since they were opened.
    func checkUnchanged() throws {
        guard Self.endings.map({ FileState(self.path + $0) }) == self.state else {
            throw AdoptFailure(
                .changed,
                "another program changed \(self.path): close the app that uses it, and try again"
            )
        }
    }

    func rows(_ sql: String) throws -> SourceRows {
        do {
            return SourceRows(try Statement(self.database, sql, self.meter, self.pendingInserts), self.path)
        } catch {
            throw SourceRows.failure(error, self.path)
        }
    }

    /// Returns the first column of the first row; `nil` if it is null, or there is none.
    func integer(_ sql: String) throws -> Int64? {
        let rows = try self.rows(sql)
        return try rows.next() && !rows.isNull(0) ? rows.integer(0) : nil
    }

    static func quoted(_ name: String) -> String {
        "\"" + name.split(separator: "\"", omittingEmptySubsequences: false).joined(separator: "\"\"") + "\""
    }
}

/// What shows that a file has changed.
private struct FileState: Equatable {
    let size: Int
    private let inode: UInt
    private let seconds: Int
    private let nanoseconds: Int

    init(_ path: String) {
        var status = stat()
        let exists = stat(path, &status) == 0
        self.size = exists ? Int(status.st_size) : -1
        self.inode = exists ? UInt(status.st_ino) : 0
        self.seconds = exists ? status.st_mtim.tv_sec : 0
        self.nanoseconds = exists ? status.st_mtim.tv_nsec : 0
    }
}
