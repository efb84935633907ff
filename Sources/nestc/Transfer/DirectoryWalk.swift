import NestDocuments
import NestModel

/// Reads a directory and everything below it as rows. Names are sorted by their bytes. `extra` holds the kind, size,
/// time, and a link's target. Links are not followed.
///
/// Only one directory is open at a time, and names are looked up relative to it. Therefore depth and the length of a
/// path are not limited. Memory holds the names in the directories of the current path.
final class DirectoryWalk {
    /// A directory of the current path.
    private struct Level {
        let device: dev_t
        let inode: ino_t
        var names: [[UInt8]]
        /// The index of the next name.
        var next = 0

        /// The name of the entry that is read now.
        var current: [UInt8] { self.next > 0 ? self.names[self.next - 1] : [] }
    }

    private static let rowsMax = 1_000
    private static let linkBytesMax = 4_096

    private let top: [UInt8]
    /// The open directory; -1 after the end.
    private var file: Int32
    private var levels: [Level] = []
    private var isStarted = false
    private var unreadable: (count: Int, first: String) = (0, "")
    private var vanishedCount = 0
    private var repairedCount = 0

    init(_ path: String) throws {
        self.file = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC)
        guard self.file >= 0 else {
            throw CommandFailure(.missingInput, "cannot open the directory '\(path)': \(errorText(errno))")
        }
        self.top = Self.name(path)
    }

    deinit {
        if self.file >= 0 { close(self.file) }
    }

    static func isDirectory(_ path: String) -> Bool {
        var status = stat()
        return stat(path, &status) == 0 && status.st_mode & S_IFMT == S_IFDIR
    }

    /// Returns the name of the top directory. For `.`, this is its real name.
    private static func name(_ path: String) -> [UInt8] {
        let real = realpath(path, nil)
        defer { free(real) }
        let bytes = real.map { Array(String(cString: $0).utf8) } ?? Array(path.utf8)
        return bytes.split(separator: UInt8(ascii: "/")).last.map { Array($0) } ?? [UInt8(ascii: "/")]
    }

    var warnings: [String] {
        var warnings: [String] = []
        if self.unreadable.count > 0 {
            warnings.append(
                "directories that could not be read: \(self.unreadable.count), first \(self.unreadable.first)"
            )
        }
        if self.vanishedCount > 0 { warnings.append("entries that disappeared in the meantime: \(self.vanishedCount)") }
        if self.repairedCount > 0 { warnings.append("names that are not UTF-8, repaired: \(self.repairedCount)") }
        return warnings
    }

    /// Returns the next rows, or `nil` at the end.
    func next() throws -> [OutlineRow]? {
        var rows: [OutlineRow] = []
        if !self.isStarted {
            self.isStarted = true
            var status = stat()
            guard fstat(self.file, &status) == 0 else { throw Self.failure(self.top) }
            rows.append(self.row(self.top, status, target: nil))
            guard self.list(status) else { throw Self.failure(self.top) }
        }
        guard !self.levels.isEmpty else { return rows.isEmpty ? nil : rows }
        while rows.count < Self.rowsMax, let level = self.levels.last {
            guard level.next < level.names.count else {
                try self.leave()
                continue
            }
            self.levels[self.levels.count - 1].next += 1
            self.take(level.names[level.next], &rows)
        }
        return rows
    }

    private func take(_ name: [UInt8], _ rows: inout [OutlineRow]) {
        let cName = name.map { CChar(bitPattern: $0) } + [0]
        var status = stat()
        guard fstatat(self.file, cName, &status, AT_SYMLINK_NOFOLLOW) == 0 else {
            self.vanishedCount += 1
            return
        }
        let isLink = status.st_mode & S_IFMT == S_IFLNK
        rows.append(self.row(name, status, target: isLink ? self.target(cName) : nil))
        guard status.st_mode & S_IFMT == S_IFDIR else { return }
        let inner = openat(self.file, cName, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC)
        guard inner >= 0, fstat(inner, &status) == 0 else {
            self.noteUnreadable(inner)
            return
        }
        let outer = self.file
        self.file = inner
        if self.list(status) {
            close(outer)
        } else {
            self.file = outer
            self.noteUnreadable(inner)
        }
    }

    private func noteUnreadable(_ file: Int32) {
        let reason = errorText(errno)
        if file >= 0 { close(file) }
        if self.unreadable.count == 0 {
            let path = ([self.top] + self.levels.map(\.current)).map { String(decoding: $0, as: UTF8.self) }
            self.unreadable.first = "\(path.joined(separator: "/")): \(reason)"
        }
        self.unreadable.count += 1
    }

    /// Adds a level with the names in the open directory. Returns `false` if they cannot be read.
    private func list(_ status: stat) -> Bool {
        guard let names = Self.names(self.file) else { return false }
        self.levels.append(Level(device: status.st_dev, inode: status.st_ino, names: names))
        return true
    }

    private static func names(_ file: Int32) -> [[UInt8]]? {
        let copy = dup(file)
        guard copy >= 0, let directory = fdopendir(copy) else {
            if copy >= 0 { close(copy) }
            return nil
        }
        defer { closedir(directory) }
        var names: [[UInt8]] = []
        errno = 0
        while let entry = readdir(directory) {
            let name = withUnsafeBytes(of: entry.pointee.d_name) { bytes in Array(bytes.prefix { $0 != 0 }) }
            if name != [0x2e], name != [0x2e, 0x2e] { names.append(name) }
        }
        guard errno == 0 else { return nil }
        return names.sorted { $0.lexicographicallyPrecedes($1) }
    }

    /// Opens the parent directory. Throws if it is not the one of the level above: the directory may have been moved.
    private func leave() throws {
        self.levels.removeLast()
        guard let outer = self.levels.last else { return }
        let file = openat(self.file, "..", O_RDONLY | O_DIRECTORY | O_CLOEXEC)
        var status = stat()
        guard file >= 0, fstat(file, &status) == 0, status.st_dev == outer.device, status.st_ino == outer.inode else {
            if file >= 0 { close(file) }
            throw CommandFailure(
                .inputOutput,
                "the directory '\(String(decoding: outer.current, as: UTF8.self))' was moved while it was read"
            )
        }
        close(self.file)
        self.file = file
    }

    private func target(_ name: [CChar]) -> String? {
        var bytes = [CChar](repeating: 0, count: Self.linkBytesMax)
        let count = readlinkat(self.file, name, &bytes, bytes.count)
        guard count >= 0 else { return nil }
        return String(decoding: bytes[..<count].map { UInt8(bitPattern: $0) }, as: UTF8.self)
    }

    private func row(_ name: [UInt8], _ status: stat, target: String?) -> OutlineRow {
        if String(validating: name, as: UTF8.self) == nil { self.repairedCount += 1 }
        let kind: String
        switch status.st_mode & S_IFMT {
        case S_IFDIR: kind = "directory"
        case S_IFREG: kind = "file"
        case S_IFLNK: kind = "link"
        default: kind = "other"
        }
        #if canImport(Darwin)
        let time = status.st_mtimespec
        #else
        let time = status.st_mtim
        #endif
        let modified = Int64(time.tv_sec) * 1_000_000 + Int64(time.tv_nsec) / 1_000
        var extra = [
            JSONElement.Member("kind", .string(kind)),
            JSONElement.Member("modified", .string(DateText.text(microseconds: modified))),
        ]
        if kind == "file" { extra.append(JSONElement.Member("size", .number("\(status.st_size)"))) }
        if let target { extra.append(JSONElement.Member("target", .string(target))) }
        return OutlineRow(
            depth: self.levels.count,
            title: String(decoding: name, as: UTF8.self),
            extra: JSONElement.object(extra).text
        )
    }

    private static func failure(_ name: [UInt8]) -> CommandFailure {
        CommandFailure(
            .inputOutput,
            "cannot read the directory '\(String(decoding: name, as: UTF8.self))': \(errorText(errno))"
        )
    }
}
