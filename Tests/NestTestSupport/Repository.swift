import Foundation

/// Files of the repository, found relative to this source file.
public enum Repository {
    public static let root = URL(filePath: #filePath)
        .deletingLastPathComponent().deletingLastPathComponent().deletingLastPathComponent()

    public static func bytes(_ path: String) throws -> [UInt8] {
        [UInt8](try Data(contentsOf: self.root.appending(path: path)))
    }

    public static func text(_ path: String) throws -> String {
        try String(contentsOf: self.root.appending(path: path), encoding: .utf8)
    }

    /// Returns the paths of all files below a directory, relative to the root of the repository.
    public static func files(under directory: String) throws -> [String] {
        try FileManager.default.subpathsOfDirectory(atPath: self.root.appending(path: directory).path()).sorted()
            .map { "\(directory)/\($0)" }
    }

    /// Returns all Swift files below a directory.
    public static func sources(under directory: String) throws -> [(path: String, text: String)] {
        let root = self.root.appending(path: directory)
        let files = FileManager.default.enumerator(at: root, includingPropertiesForKeys: nil)
        return try (files?.compactMap { $0 as? URL } ?? []).filter { $0.pathExtension == "swift" }.map {
            ($0.path(), try String(contentsOf: $0, encoding: .utf8))
        }
    }
}
