import Glibc
import NIOConcurrencyHelpers
import NestModel
import NestProtocol

/// The files below one directory.
///
/// It opens a path name by name and follows no symbolic link, so no path leaves the directory. It serves only regular
/// files, and none of the files of the store.
package final class WebFiles: Sendable {
    package enum Finding: Sendable {
        case file(WebFile)
        /// A directory: its files are below the path with a slash at the end.
        case directory
        case none
        case tooLarge
    }

    /// A file that clients must never get: its directory, and the first bytes of its name and of its companions' names.
    private struct Hidden: Sendable {
        let directory: FileIdentity
        let prefix: String
    }

    private struct FileIdentity: Equatable, Sendable {
        let device: UInt64
        let number: UInt64

        init(_ status: stat) {
            self.device = UInt64(status.st_dev)
            self.number = UInt64(status.st_ino)
        }
    }

    /// The file of a path that ends with a slash.
    private static let indexName = "index.html"

    private let root: Int32
    private let hidden: [Hidden]
    private let openCount = NIOLockedValueBox(0)

    /// Returns `nil`, with `errno` set, if the directory cannot be opened. `hiding`: paths of files that clients never
    /// get; also not files whose names begin with theirs, such as the store's write-ahead log. Blocks.
    package init?(root: String, hiding paths: [String]) {
        self.root = Glibc.open(root, O_RDONLY | O_DIRECTORY | O_CLOEXEC)
        self.hidden = paths.compactMap { path in
            let slash = path.lastIndex(of: "/")
            let directory = slash.map { $0 == path.startIndex ? "/" : String(path[..<$0]) } ?? "."
            var status = stat()
            guard stat(directory, &status) == 0 else { return nil }
            let name = slash.map { String(path[path.index(after: $0)...]) } ?? path
            return Hidden(directory: FileIdentity(status), prefix: name)
        }
        if self.root < 0 { return nil }
    }

    deinit { if self.root >= 0 { close(self.root) } }

    /// The right to have one file open, until it is released.
    package final class Lease: Sendable {
        private let files: WebFiles

        fileprivate init(_ files: WebFiles) { self.files = files }

        deinit { self.files.openCount.withLockedValue { $0 -= 1 } }
    }

    /// Returns `nil` while the maximum number of files is open.
    package func lease() -> Lease? {
        self.openCount.withLockedValue { count in
            guard count < Limits.webFilesOpenMax else { return nil }
            count += 1
            return Lease(self)
        }
    }

    /// Finds the file of a path. Blocks.
    package func find(_ path: WebPath) -> Finding {
        var names = path.names
        if path.isDirectory { names.append(Self.indexName) }
        guard let name = names.popLast() else { return .none }
        var directory = dup(self.root)
        guard directory >= 0 else { return .none }
        defer { close(directory) }
        for name in names {
            let next = openat(directory, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC)
            guard next >= 0 else { return .none }
            close(directory)
            directory = next
        }
        return self.open(name, in: directory)
    }

    private func open(_ name: String, in directory: Int32) -> Finding {
        var status = stat()
        if !self.hidden.isEmpty {
            guard fstat(directory, &status) == 0 else { return .none }
            let identity = FileIdentity(status)
            let isHidden = self.hidden.contains { $0.directory == identity && name.utf8.starts(with: $0.prefix.utf8) }
            if isHidden { return .none }
        }
        // Opening a FIFO would otherwise wait for its writer.
        let descriptor = openat(directory, name, O_RDONLY | O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK)
        guard descriptor >= 0 else { return .none }
        guard fstat(descriptor, &status) == 0, status.st_mode & S_IFMT == S_IFREG else {
            let isDirectory = status.st_mode & S_IFMT == S_IFDIR
            close(descriptor)
            return isDirectory ? .directory : .none
        }
        let file = WebFile(descriptor: descriptor, status: status, type: Self.type(of: name))
        return file.size <= Limits.webFileBytesMax ? .file(file) : .tooLarge
    }

    /// Returns the content type of a file by the end of its name.
    package static func type(of name: String) -> String {
        let end = name.utf8.split(separator: 0x2e).last.map { String(decoding: $0, as: UTF8.self).lowercased() }
        return switch end {
        case "html", "htm": "text/html; charset=utf-8"
        case "js", "mjs": "text/javascript; charset=utf-8"
        case "css": "text/css; charset=utf-8"
        case "json", "map": "application/json"
        case "svg": "image/svg+xml"
        case "png": "image/png"
        case "ico": "image/x-icon"
        case "txt", "md": "text/plain; charset=utf-8"
        default: "application/octet-stream"
        }
    }
}
