import ArgumentParser
import NestModel
import NestDocuments

/// The path of a model's file on the command line.
struct ModelArgument: ExpressibleByArgument {
    let path: String

    init?(argument: String) {
        guard !argument.isEmpty else { return nil }
        self.path = argument
    }

    /// Returns the document in the file. Throws a `CommandFailure` with all faults if the file does not contain a
    /// model.
    func read() throws -> ModelDocument {
        do {
            return self.path == "-" ? try Self.readInput() : try ModelFile.read(path: self.path)
        } catch let error as ModelFileError {
            throw CommandFailure(Self.status(error.reason), error.description)
        }
    }

    /// Returns the document and its model. Prints warnings on standard error.
    func model(_ global: GlobalOptions) throws -> (document: ModelDocument, model: ManagedObjectModel) {
        let document = try self.read()
        for warning in document.warnings { global.note("\(self.path): \(warning)") }
        do {
            return (document, try document.draft.compile())
        } catch {
            throw CommandFailure(.badInput, error.faults.map { "\(self.path): \($0)" }.joined(separator: "\n"))
        }
    }

    static func status(_ reason: ModelFileError.Reason) -> ExitStatus {
        switch reason {
        case .missing: .missingInput
        case .unreadable: .inputOutput
        case .invalid: .badInput
        }
    }

    private static func readInput() throws -> ModelDocument {
        var input = try InputFile("-")
        var bytes: [UInt8] = []
        // `ModelFile.read` reports a file that is too large.
        while bytes.count <= Limits.modelFileBytesMax, let piece = try input.next() { bytes += piece }
        return try ModelFile.read(bytes, name: "standard input")
    }
}
