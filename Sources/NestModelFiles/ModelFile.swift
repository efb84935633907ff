import NestModel

extension Limits {
    /// One file of a model.
    public static let modelFileBytesMax = 16 << 20
    /// Elements within elements of a model's XML, and values within values of its JSON.
    public static let modelFileDepthMax = 32
}

/// Reads models: Xcode's `.xcdatamodeld` and `.xcdatamodel`, the `contents` file in one, and nest's JSON form. What a file
/// is, is told by what is in it.
public enum ModelFile {
    /// The model of a file or of one of Xcode's directories.
    public static func read(path: String) throws(ModelFileError) -> ModelDocument {
        let file = try ModelPath.contents(of: path)
        return try self.read(ModelPath.bytes(of: file, as: file == path ? path : "\(path): \(file)"), name: path)
    }

    /// The model that the bytes of a file are; `name` is what errors call the file.
    public static func read(_ bytes: [UInt8], name: String) throws(ModelFileError) -> ModelDocument {
        guard bytes.count <= Limits.modelFileBytesMax else {
            throw ModelFileError(.invalid, name: name, faults: [Self.tooLarge(Limits.modelFileBytesMax)])
        }
        do {
            switch try Self.form(of: bytes) {
            case .json: return try ModelJSON.document(try JSONParser.parse(bytes), name: name)
            case .xml: return try CoreDataModelReader.document(try XMLReader.parse(bytes), name: name)
            }
        } catch let fault as SyntaxFault {
            throw ModelFileError(fault, name: name)
        } catch let error as ModelFileError {
            throw error
        } catch {
            preconditionFailure("readers of models throw nothing else: \(error)")
        }
    }

    static func tooLarge(_ max: Int) -> String { "it has more than \(max) bytes, which is not read" }

    private enum Form {
        case json
        case xml
    }

    private static func form(of bytes: [UInt8]) throws(SyntaxFault) -> Form {
        if bytes.starts(with: Array("bplist".utf8)) || bytes.starts(with: Array("NSModel".utf8)) {
            throw SyntaxFault("it is of the binary form of old Xcodes; open it in Xcode 4 or later and save it again")
        }
        var scanner = try TextScanner(bytes)
        scanner.skipSpace()
        switch scanner.peek {
        case UInt8(ascii: "<"): return .xml
        case UInt8(ascii: "{"): return .json
        case nil: throw SyntaxFault("it is empty; a model is Core Data's XML or nest's JSON")
        default: throw SyntaxFault("it is neither Core Data's XML nor nest's JSON")
        }
    }
}
