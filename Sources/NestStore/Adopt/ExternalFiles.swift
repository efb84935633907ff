import Glibc
import NestModel

/// The files in which Core Data keeps large data of a store: `.NAME_SUPPORT/_EXTERNAL_DATA` beside the store.
struct ExternalFiles {
    private let directory: String

    init(store path: String) {
        let name = path.split(separator: "/").last.map(String.init) ?? path
        let base = name.lastIndex(of: ".").flatMap { $0 > name.startIndex ? String(name[..<$0]) : nil } ?? name
        self.directory = "\(Store.directory(of: path))/.\(base)_SUPPORT/_EXTERNAL_DATA"
    }

    /// Returns the data of a file, or what is wrong with it.
    func read(_ name: [UInt8], bytesMax: Int) -> AdoptedValue {
        let text = String(decoding: name, as: UTF8.self)
        // The name comes from the store: it must not lead anywhere else.
        guard !name.isEmpty, name.count <= 255, !name.contains(UInt8(ascii: "/")), text != ".", text != ".." else {
            return .invalid("has the name of a file that cannot be one")
        }
        let descriptor = open("\(self.directory)/\(text)", O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK)
        guard descriptor >= 0 else {
            return errno == ENOENT
                ? .invalid("has data in a file that does not exist")
                : .invalid("has data in a file that cannot be read: \(String(cString: strerror(errno)))")
        }
        defer { close(descriptor) }
        var status = stat()
        guard fstat(descriptor, &status) == 0, status.st_mode & S_IFMT == S_IFREG else {
            return .invalid("has data in a file that is none")
        }
        guard status.st_size <= bytesMax else { return AdoptedValue.tooLarge(bytesMax) }
        var bytes = [UInt8](repeating: 0, count: Int(status.st_size))
        var count = 0
        while count < bytes.count {
            let more = bytes.withUnsafeMutableBytes {
                Glibc.read(descriptor, $0.baseAddress! + count, $0.count - count)
            }
            guard more > 0 else { return .invalid("has data in a file that cannot be read") }
            count += more
        }
        return .value(.data(bytes))
    }
}
