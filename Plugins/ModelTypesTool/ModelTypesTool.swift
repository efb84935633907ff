import Foundation
import NestDocuments
import NestModel

/// Writes the Swift types of a model: `ModelTypesTool MODEL OUTPUT`. Faults of the model are errors of the build.
@main struct ModelTypesTool {
    static func main() {
        let arguments = CommandLine.arguments
        guard arguments.count == 3 else { self.fail(["usage: ModelTypesTool MODEL OUTPUT"]) }
        let (model, output) = (arguments[1], arguments[2])
        do {
            let document = try ModelFile.read(path: model)
            for warning in document.warnings { print("\(model): warning: \(warning)") }
            let text = SwiftTypes.text(of: try document.draft.compile())
            try text.write(toFile: output, atomically: true, encoding: .utf8)
        } catch let error as ModelFileError {
            self.fail(error.faults.map { "\(error.name): error: \($0)" })
        } catch let faults as ModelFaults {
            self.fail(faults.faults.map { "\(model): error: \($0)" })
        } catch {
            self.fail(["\(output): error: \(error.localizedDescription)"])
        }
    }

    private static func fail(_ lines: [String]) -> Never {
        FileHandle.standardError.write(Data((lines.joined(separator: "\n") + "\n").utf8))
        exit(1)
    }
}
