import Foundation

/// Files of the repository, found from where this source file is.
public enum Repository {
    public static let root = URL(filePath: #filePath)
        .deletingLastPathComponent().deletingLastPathComponent().deletingLastPathComponent()

    public static func bytes(_ path: String) throws -> [UInt8] {
        [UInt8](try Data(contentsOf: self.root.appending(path: path)))
    }

    public static func text(_ path: String) throws -> String {
        try String(contentsOf: self.root.appending(path: path), encoding: .utf8)
    }
}
