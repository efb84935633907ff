import NestTestSupport
import Testing

/// The code that docs/adding-a-request.md quotes is in the sources.
@Suite struct RequestPageTests {
    @Test func quotedLinesExistInTheFileOfTheirSection() throws {
        let page = try Repository.text("docs/adding-a-request.md")
        var quoted = 0
        for section in page.split(separator: "\n## ").dropFirst() {
            guard let path = section.firstMatch(of: /`(Sources\/[^`]+\.swift)`/).map({ String($0.1) }) else { continue }
            let file = try Repository.text(path)
            for block in section.matches(of: /```swift\n([^`]+)```/) {
                for line in block.1.split(separator: "\n") {
                    // The page leaves out the rest of a line after "…".
                    let text = line.prefix { $0 != "…" }.trimmingSpaces
                    guard !text.isEmpty else { continue }
                    #expect(file.contains(text), "\(path): \(text)")
                    quoted += 1
                }
            }
        }
        #expect(quoted > 15)
    }
}

extension Substring {
    fileprivate var trimmingSpaces: Substring {
        var text = self[...]
        while text.first == " " { text.removeFirst() }
        while text.last == " " { text.removeLast() }
        return text
    }
}
