import Logging
import NestModel
import NestDocuments
import NestStore

/// The model that nestd serves.
extension Nestd {
    /// Returns the model at a path, or the nested list if there is no path. Prints the model's faults to standard
    /// error, one a line.
    static func readModel(_ path: String?, _ logger: Logger) throws -> ManagedObjectModel {
        guard let path else { return .nestedList }
        return try self.readModel(path) { warning in
            logger.warning("model.ignored", metadata: ["file": "\(path)", "what": "\(warning)"])
        }
    }

    static func readModel(_ path: String, warn: (String) -> Void) throws -> ManagedObjectModel {
        do {
            var document = try ModelFile.read(path: path)
            document.dropPatterns(fault: ModelPatterns.fault, matches: ModelPatterns.matches)
            for warning in document.warnings { warn(warning) }
            return try document.draft.compile()
        } catch let error as ModelFileError {
            throw Self.failure(78, error.description)
        } catch let faults as ModelFaults {
            throw Self.failure(78, faults.faults.map { "\(path): \($0)" }.joined(separator: "\n"))
        }
    }
}
