"""The agents that come with the toolkit, by name: coherent ones, and one of each failing."""

from coherence.study.agents.agent import Agent

AGENTS = {
    agent.name: agent
    for agent in (
        Agent(
            "rational",
            "Reports the belief it acts on; choices follow expected utility with random shocks.",
        ),
        Agent(
            "miscalibrated",
            "Coherent but overconfident: acts on, and reports, a distorted posterior.",
            belief_slope=2.0,
            belief_shift=0.5,
        ),
        Agent(
            "leaky",
            "Acts on more than it reports: its choices also see part of the realised state.",
            hidden_signal=0.4,
        ),
        Agent(
            "noisy",
            "Acts on a stable belief, but its reports scatter around it.",
            report_noise=0.15,
        ),
        Agent(
            "nonmonotone",
            "Says yes most often at middling beliefs.",
            peak=1.0,
            yes_at=0.5,
            no_at=0.5,
            slope=6.0,
        ),
        Agent(
            "wordbound",
            "Reports another belief when the wording changes, and averages badly over z.",
            prompt_shift=0.15,
            iterated_bias=0.3,
        ),
        Agent(
            "prospect",
            "Coherent, but counts small beliefs for more than they are, and large ones for less.",
            prelec=0.6,
        ),
        Agent(
            "greedy",
            "Takes the best action at its belief, but for one choice in twenty that is any action.",
            slope=200.0,
            taste=0.0,
            defer=10.0,
            lapses=0.05,
        ),
        Agent(
            "heaping",
            "Coherent; its reports scatter, and half of them are rounded to tenths.",
            report_noise=0.1,
            heaping=0.5,
        ),
    )
}
