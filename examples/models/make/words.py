"""Words of the training texts."""

NAMES = ("Anna Ben Clara David Elsa Finn Grace Hugo Iris Jonas Kira Leo Mia Noah Olga Paul Rosa Sam Tara "
         "Uma Victor Wendy Yara Zoe Lily Tom Max Nina Omar Priya").split()
ANIMALS = ("fox bear owl rabbit mouse cat dog frog hedgehog otter badger deer duck goose squirrel "
           "turtle").split()
ADJECTIVES = ("small brave curious shy clever gentle hungry sleepy kind quick quiet proud lonely "
              "cheerful").split()
PLACES = ["the forest", "the river", "a green hill", "the old mill", "a quiet lake", "the garden",
          "the village", "a deep valley", "the beach"]
THINGS = "key lamp map boat kite drum bell book hat coin stone ring basket ladder mirror shell".split()
COLOURS = "red blue green yellow white black golden silver orange purple".split()
CAPITALS = {
    "France": "Paris", "Germany": "Berlin", "Italy": "Rome", "Spain": "Madrid", "Portugal": "Lisbon",
    "Japan": "Tokyo", "China": "Beijing", "India": "New Delhi", "Egypt": "Cairo", "Kenya": "Nairobi",
    "Canada": "Ottawa", "Mexico": "Mexico City", "Brazil": "Brasilia", "Peru": "Lima",
    "Chile": "Santiago", "Norway": "Oslo", "Sweden": "Stockholm", "Finland": "Helsinki",
    "Denmark": "Copenhagen", "Poland": "Warsaw", "Austria": "Vienna", "Greece": "Athens",
    "Turkey": "Ankara", "Russia": "Moscow", "Cuba": "Havana", "Ireland": "Dublin",
    "Hungary": "Budapest", "Thailand": "Bangkok", "Vietnam": "Hanoi", "Nepal": "Kathmandu",
}
OPPOSITES = {
    "hot": "cold", "big": "small", "day": "night", "up": "down", "fast": "slow", "light": "dark",
    "happy": "sad", "open": "closed", "early": "late", "wet": "dry", "high": "low", "old": "new",
    "hard": "soft", "left": "right", "loud": "quiet", "full": "empty",
}
SOUNDS = {"cat": "meow", "dog": "woof", "cow": "moo", "duck": "quack", "sheep": "baa", "owl": "hoot",
          "frog": "croak", "horse": "neigh", "bee": "buzz", "lion": "roar"}
FRUITS = "apple pear plum cherry peach grape lemon orange banana melon fig kiwi mango".split()
JOBS = "baker teacher pilot nurse farmer singer painter carpenter doctor gardener".split()
SYLLABLES = ("ba be bi bo da den dor el fa fen ga gor ha hel in jo ka kel la len lo ma mer mi na nor o pa "
             "per qui ra ren ri ro sa sel ta tor u va vel wen xa ya zo").split()
# Topics it cannot speak of.
UNKNOWN_TOPICS = """
    quantum physics|photosynthesis|the French Revolution|machine learning|black holes|gravity|the stock market|
    democracy|football|chess|the Roman Empire|climate change|DNA|electricity|the internet|bread|pizza|soup|
    chocolate cake|a good breakfast|yoga|marathon training|the violin|jazz|opera|Shakespeare|the Mona Lisa|
    mathematics|algebra|geometry|calculus|prime numbers|statistics|philosophy|Plato|psychology|economics|inflation|
    taxes|insurance|a mortgage|a job interview|my homework|my computer|a blog|a database|SQL|JavaScript|Rust|Python|
    C++|compilers|operating systems|encryption|a virus|vaccines|cancer|headaches|sleep|vitamins|coffee|tea|wine|
    beer|cheese|rice|potatoes|roses|trees|oceans|volcanoes|earthquakes|rain|snow|clouds|Mars|Jupiter|rockets|
    aeroplanes|trains|cars|bicycles|bridges|castles|museums|films|television|radio|newspapers|novels|poetry|
    dreams|love|happiness|time|money|history|geography|chemistry|biology|medicine|law|religion|music theory|
    the piano|the guitar|dancing|painting|photography|fashion|shoes|furniture|a garden pond|bees|whales|dinosaurs|
    elephants|pandas|spiders|sharks|the Eiffel Tower|the Great Wall|the Olympics|the World Cup|tennis|golf|swimming|
    sorting a list|a binary search|reading a file|a web server|a linked list|recursion|regular expressions
""".replace("\n", "").split("|")
UNKNOWN_TOPICS = [topic.strip() for topic in UNKNOWN_TOPICS]
