/// A server with a quantity that grows. Each series alternates between two of them, one of which stays at the smallest
/// count.
protocol ScalingSubject {
    /// The series. `sample` returns one sample for each of them, in this order.
    static var series: [Series] { get }
    /// The counts in ascending order: all of them, and those of `--quick`.
    static var counts: (full: [Int], quick: [Int]) { get }
    /// The number of connections at a count. Counts for which there are not enough descriptors are left out.
    static func connections(for count: Int) -> Int

    /// `most`: the largest count.
    init(_ options: BenchOptions, most: Int) async throws
    var server: ScalingServer { get }
    func grow(to count: Int) async throws
    /// Measures each series for about `seconds`. A sample without operations means that the operation is impossible at
    /// this count.
    func sample(_ seconds: Double) async throws -> [Sample]
}

extension ScalingSubject {
    static func connections(for count: Int) -> Int { 0 }
}
