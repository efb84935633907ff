import Glibc
import NestModel
import NestStore

/// Checking a store that nobody serves.
extension Nestd {
    /// Prints what is wrong with the store, one thing a line; with anything wrong the status is 65.
    func checkStore(_ path: String) throws {
        let report: CheckReport
        do throws(StoreError) {
            report = try Store.check(path) { step in
                if isatty(STDERR_FILENO) == 1 { Self.tell("\(step.number) of \(step.count): \(step.name)") }
            }
        } catch {
            throw Self.failure(error.exitStatus, "\(error)")
        }
        for problem in report.problems { print(problem) }
        fflush(nil)
        guard report.problemCount == 0 else {
            throw Self.failure(
                65,
                "\(report.problemCount) things are wrong with \(path): keep a copy of its files as they are, then restore a backup"
            )
        }
        print("\(path): \(report.objectCount) objects at revision \(report.revision), all is well")
    }

    static func tell(_ message: String) {
        var line = "nestd: \(message)\n"
        // There is nobody to tell when even this cannot be written.
        line.withUTF8 { _ = write(STDERR_FILENO, $0.baseAddress, $0.count) }
    }
}
