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
        /// The system has no descriptor or memory for it now, or cannot read it.
        case unavailable

        /// What an error of the system means for the client.
        package static func failure(_ number: Int32) -> Finding {
            [EMFILE, ENFILE, ENOMEM, EIO].contains(number) ? .unavailable : .none
        }
    }

    private struct Open {
        var count = 0
        var byAddress: [AddressKey: Int] = [:]
    }

    /// The file of a path that ends with a slash.
    private static let indexName = "index.html"

    private let root: Int32
    private let hidden: [HiddenFile]
    private let open = NIOLockedValueBox(Open())

    /// Returns `nil`, with `errno` set, if the directory cannot be opened. `hiding`: paths of files that clients never
    /// get; also not files whose names begin with theirs, such as the store's write-ahead log. Blocks.
    package init?(root: String, hiding paths: [String]) {
        self.hidden = paths.map { HiddenFile(path: $0) }
        self.root = Glibc.open(root, O_RDONLY | O_DIRECTORY | O_CLOEXEC)
        if self.root < 0 { return nil }
    }

    deinit { if self.root >= 0 { close(self.root) } }

    /// The right to have one file open, until it is released.
    package final class Lease: Sendable {
        private let files: WebFiles
        private let address: AddressKey?

        fileprivate init(_ files: WebFiles, _ address: AddressKey?) {
            self.files = files
            self.address = address
        }

        deinit { self.files.released(self.address) }
    }

    /// Returns `nil` while the maximum number of files is open, in all or for this address. `address`: `nil` for this
    /// machine, whose users share one address.
    package func lease(of address: AddressKey?) -> Lease? {
        self.open.withLockedValue { open in
            guard open.count < Limits.webFilesOpenMax else { return nil }
            if let address {
                guard open.byAddress[address, default: 0] < Limits.webFilesPerAddressMax else { return nil }
                open.byAddress[address, default: 0] += 1
            }
            open.count += 1
            return Lease(self, address)
        }
    }

    private func released(_ address: AddressKey?) {
        self.open.withLockedValue { open in
            open.count -= 1
            guard let address, let count = open.byAddress[address] else { return }
            open.byAddress[address] = count > 1 ? count - 1 : nil
        }
    }

    /// Finds the file of a path. Blocks.
    package func find(_ path: WebPath) -> Finding {
        var names = path.names
        if path.isDirectory { names.append(Self.indexName) }
        guard let name = names.popLast() else { return .none }
        var directory = fcntl(self.root, F_DUPFD_CLOEXEC, 0)
        guard directory >= 0 else { return .failure(errno) }
        defer { close(directory) }
        for name in names {
            let next = openat(directory, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC)
            guard next >= 0 else { return .failure(errno) }
            close(directory)
            directory = next
        }
        return self.open(name, in: directory)
    }

    private func open(_ name: String, in directory: Int32) -> Finding {
        var status = stat()
        if !self.hidden.isEmpty {
            guard fstat(directory, &status) == 0 else { return .failure(errno) }
            let identity = FileIdentity(status)
            if self.hidden.contains(where: { $0.owns(name, in: identity) }) { return .none }
        }
        // Opening a FIFO would otherwise wait for its writer.
        let descriptor = openat(directory, name, O_RDONLY | O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK)
        guard descriptor >= 0 else { return .failure(errno) }
        guard fstat(descriptor, &status) == 0, status.st_mode & S_IFMT == S_IFREG else {
            let isDirectory = status.st_mode & S_IFMT == S_IFDIR
            close(descriptor)
            return isDirectory ? .directory : .none
        }
        let file = WebFile(descriptor: descriptor, status: status, type: Self.type(of: name))
        let identity = FileIdentity(status)
        guard !self.hidden.contains(where: { $0.identity == identity }) else { return .none }
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
