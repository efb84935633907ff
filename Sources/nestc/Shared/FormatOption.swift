import ArgumentParser
import NestFormats

extension OutlineFormat: ExpressibleByArgument {}

struct FormatOption: ParsableArguments {
    @Option(help: "The format; by the file's name, or text, if it is not said.")
    var format: OutlineFormat?

    func format(of path: String?) -> OutlineFormat {
        self.format ?? path.flatMap(OutlineFormat.init(fileName:)) ?? .text
    }
}
