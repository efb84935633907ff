import NestModel

extension Limits {
    /// The maximum size of a model file.
    public static let modelFileBytesMax = 16 << 20
}

/// Reads models: Xcode's `.xcdatamodeld` and `.xcdatamodel`, the `contents` file in one, and nest's JSON form. The
/// content of a file determines its form.
public enum ModelFile {
    /// Reads the model in a file or in one of Xcode's directories.
    public static func read(path: String) throws(ModelFileError) -> ModelDocument {
        let file = try ModelPath.contents(of: path)
        return try self.read(ModelPath.bytes(of: file, as: file == path ? path : "\(path): \(file)"), name: path)
    }

    /// Reads the model in a file's bytes. Errors use `name` for the file.
    public static func read(_ bytes: [UInt8], name: String) throws(ModelFileError) -> ModelDocument {
        guard bytes.count <= Limits.modelFileBytesMax else {
            throw ModelFileError(.invalid, name: name, faults: [Self.tooLarge(Limits.modelFileBytesMax)])
        }
        do {
            var document: ModelDocument
            switch try Self.form(of: bytes) {
            case .json:
                let element = try JSONElement.parse(bytes, depthMax: Limits.modelFileDepthMax)
                document = try ModelJSON.document(element, name: name)
            case .xml: document = try CoreDataModelReader.document(try XMLElement.parse(bytes), name: name)
            }
            // Xcode writes such a file for a new project.
            if document.draft.entities.isEmpty {
                document.warnings.append("the model has no entity yet: no object can be stored")
            }
            return document
        } catch let fault as FormatError {
            throw ModelFileError(fault, name: name)
        } catch let error as ModelFileError {
            throw error
        } catch {
            preconditionFailure("readers of models throw nothing else: \(error)")
        }
    }

    static func tooLarge(_ max: Int) -> String { "it has more than \(max) bytes, the maximum" }

    private enum Form {
        case json
        case xml
    }

    private static func form(of bytes: [UInt8]) throws(FormatError) -> Form {
        if bytes.starts(with: Array("bplist".utf8)) || bytes.starts(with: Array("NSModel".utf8)) {
            throw FormatError(
                "it has the binary form of old versions of Xcode; open it in Xcode 4 or later and save it again"
            )
        }
        // Parsers take text with zero bytes for UTF-16.
        guard String(validating: bytes, as: UTF8.self) != nil, !bytes.contains(0) else {
            throw FormatError("it is not UTF-8 text")
        }
        let start = bytes.starts(with: [0xef, 0xbb, 0xbf]) ? 3 : 0
        switch bytes[start...].first(where: { !" \t\r\n".utf8.contains($0) }) {
        case UInt8(ascii: "<"): return .xml
        case UInt8(ascii: "{"): return .json
        case nil: throw FormatError("it is empty; a model is Core Data's XML or nest's JSON")
        default: throw FormatError("it is neither Core Data's XML nor nest's JSON")
        }
    }
}
