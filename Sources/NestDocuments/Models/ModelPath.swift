import Foundation
import NestModel

/// Finds the file with a model. Xcode keeps the versions of a model in a directory of directories.
enum ModelPath {
    private static let versionFile = ".xccurrentversion"
    private static let versionFileBytesMax = 64 << 10

    /// Returns the file to read for a path: the path itself, or a file in that directory.
    static func contents(of path: String) throws(ModelFileError) -> String {
        guard try Self.isDirectory(path) else { return path }
        let names = try Self.names(in: path)
        if names.contains("contents") { return path + "/contents" }
        let versions = names.filter { $0.hasSuffix(".xcdatamodel") }
        if !versions.isEmpty {
            return try Self.contents(ofVersion: path + "/" + Self.currentVersion(of: path, among: versions), path)
        }
        throw ModelFileError(.invalid, name: path, faults: [Self.refusal(names)])
    }

    /// Returns the name and path of each version of a model, and whether it is the current one.
    static func versions(of path: String) throws(ModelFileError) -> [(name: String, path: String, isCurrent: Bool)] {
        let ending = ".xcdatamodel"
        var path = path
        while path.count > 1, path.hasSuffix("/") { path.removeLast() }
        let names = try Self.isDirectory(path) ? Self.names(in: path).filter { $0.hasSuffix(ending) } : []
        guard !names.isEmpty else {
            let name = path.split(separator: "/").last.map(String.init) ?? path
            return [(name.hasSuffix(ending) ? String(name.dropLast(ending.count)) : name, path, true)]
        }
        let current = try Self.versionNamed(in: path) ?? (names.count == 1 ? names[0] : nil)
        return names.map { (String($0.dropLast(ending.count)), "\(path)/\($0)", $0 == current) }
            .sorted { $0.name < $1.name }
    }

    private static func contents(ofVersion version: String, _ path: String) throws(ModelFileError) -> String {
        let names = try Self.names(in: version)
        guard names.contains("contents") else {
            throw ModelFileError(.invalid, name: version, faults: [Self.refusal(names)])
        }
        return version + "/contents"
    }

    private static func refusal(_ names: [String]) -> String {
        if names.contains("elements") {
            return "it has the binary form of old versions of Xcode; open it in Xcode 4 or later and save it again"
        }
        if names.contains(where: { $0.hasSuffix(".mom") || $0.hasSuffix(".omo") }) {
            return "it is a compiled model; specify the .xcdatamodeld directory that it was made from"
        }
        return "a directory with neither a 'contents' file nor an .xcdatamodel in it"
    }

    private static func currentVersion(of path: String, among versions: [String]) throws(ModelFileError) -> String {
        let sorted = versions.sorted()
        guard let name = try Self.versionNamed(in: path) else {
            if sorted.count == 1 { return sorted[0] }
            let list = sorted.joined(separator: ", ")
            throw ModelFileError(
                .invalid,
                name: path,
                faults: [
                    "it has no \(Self.versionFile) with the current version; specify one of \(list), or choose the current "
                        + "version in Xcode"
                ]
            )
        }
        guard sorted.contains(name) else {
            let list = sorted.joined(separator: ", ")
            let fault = "\(Self.versionFile) names \(name), which does not exist; the versions are \(list)"
            throw ModelFileError(.invalid, name: path, faults: [fault])
        }
        return name
    }

    private static func versionNamed(in path: String) throws(ModelFileError) -> String? {
        let file = path + "/" + Self.versionFile
        guard FileManager.default.fileExists(atPath: file) else { return nil }
        let bytes = try Self.bytes(of: file, as: file, max: Self.versionFileBytesMax)
        let list = try? PropertyListSerialization.propertyList(from: Data(bytes), format: nil)
        // Xcode also writes an empty dictionary, which names no version.
        if let entries = list as? [String: Any], entries.isEmpty { return nil }
        guard let name = (list as? [String: Any])?["_XCCurrentVersionName"] as? String else {
            let fault = "it is not a property list with an _XCCurrentVersionName"
            throw ModelFileError(.invalid, name: file, faults: [fault])
        }
        return name
    }

    // MARK: The file system

    /// Reads a regular file of at most `max` bytes.
    static func bytes(
        of path: String,
        as name: String,
        max: Int = Limits.modelFileBytesMax
    ) throws(ModelFileError) -> [UInt8] {
        do {
            // The attributes of a link's target.
            let target = URL(filePath: path).resolvingSymlinksInPath().path
            let attributes = try FileManager.default.attributesOfItem(atPath: target)
            guard attributes[.type] as? FileAttributeType == .typeRegular else {
                throw ModelFileError(.unreadable, name: name, faults: ["it is not a file"])
            }
            let file = try FileHandle(forReadingFrom: URL(filePath: target))
            defer { try? file.close() }
            var bytes: [UInt8] = []
            // One byte more than is allowed shows whether the file is too large.
            while bytes.count <= max, let piece = try file.read(upToCount: max + 1 - bytes.count), !piece.isEmpty {
                bytes.append(contentsOf: piece)
            }
            guard bytes.count <= max else {
                throw ModelFileError(.invalid, name: name, faults: [ModelFile.tooLarge(max)])
            }
            return bytes
        } catch let error as ModelFileError {
            throw error
        } catch {
            throw Self.failure(error, path, name)
        }
    }

    private static func isDirectory(_ path: String) throws(ModelFileError) -> Bool {
        var isDirectory = ObjCBool(false)
        guard FileManager.default.fileExists(atPath: path, isDirectory: &isDirectory) else {
            throw ModelFileError(.missing, name: path, faults: ["there is no such file"])
        }
        return isDirectory.boolValue
    }

    private static func names(in path: String) throws(ModelFileError) -> [String] {
        do {
            return try FileManager.default.contentsOfDirectory(atPath: path)
        } catch {
            throw Self.failure(error, path, path)
        }
    }

    private static func failure(_ error: any Error, _ path: String, _ name: String) -> ModelFileError {
        let underlying = (error as NSError).userInfo[NSUnderlyingErrorKey] as? NSError
        let code = underlying.flatMap { $0.domain == NSPOSIXErrorDomain ? Int32($0.code) : nil }
        let reason = code.map { String(cString: strerror($0)) } ?? error.localizedDescription
        return ModelFileError(.unreadable, name: name, faults: ["it cannot be read: \(reason)"])
    }
}
