import ArgumentParser
import NestDocuments

extension OutlineFormat: ExpressibleByArgument {}

/// The input of `nestc import`: a file in one of the formats, or a directory.
enum ImportFormat: ExpressibleByArgument, CaseIterable {
    case outline(OutlineFormat)
    case directory

    private static let directoryName = "dir"
    static let allCases = OutlineFormat.allCases.map { Self.outline($0) } + [.directory]
    static var allValueStrings: [String] { Self.allCases.map(\.name) }

    init?(argument: String) {
        if argument == Self.directoryName {
            self = .directory
        } else if let format = OutlineFormat(rawValue: argument) {
            self = .outline(format)
        } else {
            return nil
        }
    }

    var name: String {
        switch self {
        case .outline(let format): format.rawValue
        case .directory: Self.directoryName
        }
    }
}

struct ImportFormatOption: ParsableArguments {
    @Option(help: "The format. (default: by the file's name or contents)")
    var format: ImportFormat?

    @Flag(
        inversion: .prefixedNo,
        help: "Whether texts in an OPML file are HTML. (default: if the file looks like Workflowy's)"
    )
    var html: Bool?

    var reading: ReadingOptions { ReadingOptions(hasHTML: self.html) }
}

struct ExportFormatOption: ParsableArguments {
    @Option(help: "The format. (default: by the file's name, or text)")
    var format: OutlineFormat?

    @Flag(help: "In Markdown, write an empty box before items that are not done.")
    var tasks = false

    func format(of path: String?) -> OutlineFormat {
        self.format ?? path.flatMap(OutlineFormat.init(fileName:)) ?? .text
    }
}
