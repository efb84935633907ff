import Glibc
import NestDocuments
import NestModel
import NestStore

/// Checks a store that no server has open.
extension Nestd {
    /// Prints the problems of the store, one a line. If there are any, the exit status is 65.
    func checkStore(_ path: String) throws {
        let report: CheckReport
        do throws(StoreError) {
            report = try Store.check(path) { step in
                if isatty(STDERR_FILENO) == 1 { Self.printMessage("\(step.number) of \(step.count): \(step.name)") }
            }
        } catch {
            throw Self.failure(error.exitStatus, "\(error)")
        }
        for problem in report.problems { print(problem) }
        fflush(nil)
        guard report.problemCount == 0 else {
            let problems =
                "\(path) has \(Counted.text(report.problemCount, "problem", isGrouped: isatty(STDERR_FILENO) == 1))"
            throw Self.failure(65, "\(problems): keep a copy of its files as they are, then restore a backup")
        }
        print(
            "\(path): \(Counted.text(report.objectCount, "object", isGrouped: isatty(STDOUT_FILENO) == 1)) at "
                + "revision \(report.revision), all is well"
        )
    }

    static func printMessage(_ message: String) {
        var line = "nestd: \(message)\n"
        // A failure to write this can be reported nowhere.
        line.withUTF8 { _ = write(STDERR_FILENO, $0.baseAddress, $0.count) }
    }
}
